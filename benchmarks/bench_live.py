"""How long a live page takes, in headless Chromium against the built site: its start, and each change after it.

Times run from the reader's choice to what it changes on the page: the numbers, and the
last of the figures. Every start is in a fresh profile, so that the browser has kept nothing.
"""

import functools
import http.server
import shutil
import statistics
import sys
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGE = "kv-budget"  # the longest
STARTS, CHANGES = 3, 9
MODELS = ["qwen3-32b", "qwen3-8b", "llama-3.1-8b", "qwen2.5-72b", "mistral-nemo-12b", "llama-3.1-405b", "qwen3-14b"]
LIMITS = {"first numbers": 7, "first figures": 16, "numbers": 0.15, "figures after them": 0.4}  # seconds
SCRIPT = 40_000  # bytes, before the first use
QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"

# When the reader chose, and when the page had done with each kind of message from Python.
CLOCK = """
window.times = {};
addEventListener("change", () => { times = { chosen: performance.now() }; }, true);
const Real = Worker;
window.Worker = class extends Real {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => {
      setTimeout(() => { times[data.kind] = performance.now(); });
    });
  }
};
"""
DRAWN = "times.done && times.figure && !document.querySelector('.live-waits') && times"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def chosen(page, model):
    """Choose a model; seconds until its numbers, and its last figure, are on the page."""
    page.select_option("select[name=model]", model)
    while not (times := page.evaluate(DRAWN)):
        time.sleep(0.05)  # a question takes the page's time too
    return [(times[kind] - times["chosen"]) / 1000 for kind in ("numbers", "figure")]


def visit(browser, address):
    """Seconds of the first use, seconds of each change after it, and bytes of script before."""
    context = browser.new_context()
    page, loaded = context.new_page(), []
    page.add_init_script(CLOCK)
    page.on("response", lambda answer: "/_static/live" in answer.url and loaded.append(answer))
    page.goto(f"{address}/book/{PAGE}.html", wait_until="networkidle")
    script = sum(len(answer.body()) for answer in loaded if answer.url.partition("?")[0].endswith(".js"))
    page.evaluate("document.getElementById('hardware').open = true")
    first = chosen(page, MODELS[0])
    later = [chosen(page, MODELS[i % len(MODELS)]) for i in range(1, CHANGES + 1)]
    context.close()
    return first, later, script


def measured(browser, address):
    """Seconds of each kind, of all visits."""
    seconds = {what: [] for what in LIMITS}
    for _ in range(STARTS):
        (numbers, figures), later, script = visit(browser, address)
        seconds["first numbers"].append(numbers)
        seconds["first figures"].append(figures)
        seconds["numbers"] += [numbers for numbers, _ in later]
        seconds["figures after them"] += [figures - numbers for numbers, figures in later]
    return seconds, script


def main():
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chromium or not (SITE / "_static" / "live" / "pyodide.mjs").exists():
        print("live pages: not measured; wanted Chromium, and a site with Python for the browser (make book)")
        return False
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET.split())
        seconds, script = measured(browser, f"http://127.0.0.1:{server.server_port}")
        browser.close()
        server.shutdown()
    medians = {what: statistics.median(times) for what, times in seconds.items()}
    for what, limit in LIMITS.items():
        spread = f"{min(seconds[what]):.2f} to {max(seconds[what]):.2f}"
        print(f"{PAGE}, {what:18} {medians[what]:6.2f} s, {spread} s; target at most {limit} s")
    print(f"script before the first use: {script / 1000:.1f} kB; target at most {SCRIPT / 1000:.0f} kB")
    return script > SCRIPT or any(medians[what] > limit for what, limit in LIMITS.items())


if __name__ == "__main__":
    sys.exit(main())
