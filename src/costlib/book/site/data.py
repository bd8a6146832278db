"""What a live page reads: ``book.json``, its cells and values, and ``manifest.json``, the files that Python needs."""

import json
from pathlib import Path

from costlib.book.site import assets

FIELDS = ("printed", "value", "number", "unit", "digits", "page", "dial")


def write(app, error):
    """Write them, and the files themselves, into the site."""
    if error or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "live"
    manifest = assets.place(app.srcdir, folder, app.config.costlib_without)
    _write(folder / "book.json", book(app.env))
    _write(folder / "manifest.json", manifest)
    for group in manifest["groups"]:
        size = sum(file["bytes"] for file in group["files"])
        assets.LOG.info("live pages: %.1f MB of %s", size / 1e6, group["label"])
    assets.warn(app.config)


def book(env):
    """The cells of each page, what it quotes, and every published value."""
    domain = env.get_domain("cost")
    pages = {
        Path(page).name: {**kept, "quotes": sorted(domain.data["quotes"].get(page, ()))}
        for page, kept in sorted(domain.data["pages"].items())
    }
    values = {
        key: {field: record[field] for field in FIELDS if field in record} | {"page": Path(record["page"]).name}
        for key, record in sorted(domain.values.items())
    }
    return {"pages": pages, "values": values}


def _write(file, content):
    file.write_text(json.dumps(content, ensure_ascii=False) + "\n", "utf-8")
