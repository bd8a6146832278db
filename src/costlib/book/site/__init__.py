"""What makes the built pages live: Python for the browser, data for it, the control, and the policy they run under.

A second Sphinx extension beside :mod:`costlib.book.sphinx_ext`.

- ``assets`` fetches Pyodide and the packages, locked, checks every file and puts them into the site.
- ``data`` writes what the page's Python reads: the cells and the values, and which files it loads.
- ``control`` puts the form with the hardware above each page.
- ``notebooks`` writes each page as a notebook that runs on its own, and puts the package into the site.
- ``comparison`` runs the pages' cells for several scenarios, and sets their values side by side.
- ``policy`` writes into each page which scripts may run, and that nothing comes from elsewhere.
- ``progress`` says how far a quiet build is.
"""

import costlib
from costlib.book.site import assets, comparison, control, data, notebooks, policy, progress


def setup(app):
    progress.follow(app)
    app.add_config_value("costlib_without", {}, "html")  # group of assets -> why it is not in the site
    app.connect("config-inited", assets.prepare)
    app.add_directive("comparison", comparison.Comparison)
    app.connect("env-get-outdated", comparison.outdated)
    app.connect("html-page-context", notebooks.offer)
    app.connect("html-page-context", control.add, priority=900)  # after the theme has filled the page's context
    app.connect("build-finished", data.write)
    app.connect("build-finished", notebooks.write)
    app.connect("build-finished", policy.write, priority=900)  # after every page, the redirect to the first too
    return {"version": costlib.__version__, "parallel_read_safe": True, "parallel_write_safe": True}
