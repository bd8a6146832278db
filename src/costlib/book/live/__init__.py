"""What runs in the reader's browser: the page's own cells, under the reader's scenario.

- :mod:`~costlib.book.live.fields`: the fields of the control, and where each stands.
- :mod:`~costlib.book.live.inputs`: what a reader entered: the scenario file that it makes, and what is wrong.
- :mod:`~costlib.book.live.notices`: what is worth a word of inputs that can be used.
- :mod:`~costlib.book.live.cells`: what a cell reads and writes, and so which cells a change reaches.
- :mod:`~costlib.book.live.kernel`: runs them, and tells the page what is different.
- :mod:`~costlib.book.live.absent`: stands in for modules that are not there, or not yet.
- :mod:`~costlib.book.live.rendering`: what cells show, in HTML.

Neither Sphinx nor IPython is needed, nor a thread or a second process.
"""
