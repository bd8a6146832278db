"""What a quiet build says: what it reads and computes, page by page, how far it is, and what the pages came to.

Under ``-q``, Sphinx itself says nothing but warnings and errors, and those in full.
"""

import logging
import sys
import time

from sphinx.util.logging import NewLineStreamHandler, getLogger

from costlib.units import counted

LOG = getLogger(__name__)
OURS = logging.getLogger("sphinx.costlib")  # the parent of every logger of ours, as Sphinx names them


class Reading:
    """Which page is being read, how many there are, and since when."""

    def __init__(self):
        self.of = self.number = 0
        self.since = None

    def begin(self, _app, _env, pages):
        """Before the first page."""
        self.of, self.number = len(pages), 0
        LOG.info("Reading %s, and running what is new or changed", counted(self.of, "page") if self.of else "no page")

    def page(self, _app, page, _source):
        """Before a page, whose cells run first if they have to."""
        self.number, self.since = self.number + 1, time.time()
        LOG.info("[%*d/%d] %s", len(str(self.of)), self.number, self.of, page, nonl=True)

    def done(self, app, _doctree):
        """After it."""
        ran = app.env.nb_metadata.get(app.env.docname, {}).get("exec_data") or {"mtime": 0}
        seconds = time.time() - self.since
        LOG.info("%s", f": ran, {seconds:.1f} s" if ran["mtime"] >= self.since else "")


def follow(app):
    """Let a quiet build say how far it is, beside what our other parts have to say."""
    OURS.handlers.clear()
    if not app.quiet:
        return
    to_reader = NewLineStreamHandler(sys.stdout)
    to_reader.addFilter(lambda record: record.levelno < logging.WARNING)  # those Sphinx prints
    OURS.addHandler(to_reader)
    OURS.setLevel(logging.INFO)
    reading = Reading()
    app.connect("env-before-read-docs", reading.begin)
    app.connect("source-read", reading.page)
    app.connect("doctree-read", reading.done)
    app.connect("env-updated", lambda *_: LOG.info("Writing the site"))
