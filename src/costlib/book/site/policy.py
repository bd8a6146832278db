"""The content security policy of each page: scripts of the site, Python's WebAssembly, nothing from elsewhere.

The theme writes some scripts into the pages themselves. Each is allowed by its
sum, in its own page; one that anything else puts there does not run.
"""

import base64
import hashlib
import re
from pathlib import Path

SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.DOTALL | re.IGNORECASE)
META = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n?')
PRINT = 'onclick="window.print()"'  # of the theme's button; policy.js listens in its place


def policy(html):
    """The policy under which a page works."""
    sums = sorted({_sum(script["code"]) for script in SCRIPT.finditer(html) if _runs(script)})
    return "; ".join(
        [
            "default-src 'self'",
            " ".join(["script-src 'self' 'wasm-unsafe-eval'", *sums]),
            # MathJax sets formulas with style attributes, and figures in SVG carry theirs.
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            # Python's worker is made in the page, and so has this policy too; one from an address would have none.
            "worker-src blob:",
            "connect-src 'self'",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
        ]
    )


def _runs(script):
    attributes = script["attributes"]
    return script["code"].strip() and "src=" not in attributes and "json" not in attributes


def _sum(code):
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def written(html):
    """A page with its policy, before anything that the policy speaks of."""
    html = META.sub("", html).replace(PRINT, 'data-does="print"')
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(html)}">\n'
    head = re.search(r"<head>\s*(<meta charset=[^>]*>\s*)?", html)
    at = head.end() if head else 0  # the redirect to the first page has no head
    return html[:at] + meta + html[at:]


def write(app, error):
    """Write each page's policy into it."""
    if error or app.builder.format != "html":
        return
    for file in Path(app.outdir).rglob("*.html"):
        before = file.read_text("utf-8")
        if (after := written(before)) != before:
            file.write_text(after, "utf-8", newline="")
