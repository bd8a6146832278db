"""How long a live page takes, in headless Chromium against the built site: its start, and each change after it.

Times run from the reader's choice to what it changes on the page: the numbers, and the
last of the figures. Every start is in a fresh profile, so that the browser has kept nothing.
They mean what they say on a machine that does nothing else; its load is printed beside them.
"""

import functools
import http.server
import os
import shutil
import statistics
import sys
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGES = {"kv-budget": "the longest page", "output-cost": "the page with the most figures"}
STARTS, CHANGES = 3, 6  # of each page; changes after each start
MODELS = ["qwen3-32b", "qwen3-8b", "llama-3.1-8b", "qwen2.5-72b", "mistral-nemo-12b", "llama-3.1-405b", "qwen3-14b"]
LIMITS = {"first numbers": 7, "first figures": 16, "numbers": 0.15, "figures after them": 0.4}  # median seconds
LONGEST_ONLY = ("numbers", "figures after them")  # what is asked of a change is asked of the longest page
SCRIPT = 40_000  # bytes, before the first use
QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"

# When the reader chose, and when the page had done with the first numbers and with the last of other messages.
CLOCK = """
window.times = {};
addEventListener("change", () => { times = { chosen: performance.now(), figure: null }; }, true);
const Real = Worker;
window.Worker = class extends Real {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => {
      setTimeout(() => { times[data.kind] = (data.kind === "numbers" && times.numbers) || performance.now(); });
    });
  }
};
"""
DRAWN = "times.done && !document.querySelector('.live-waits') && times"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def chosen(page, model):
    """Choose a model; seconds until its numbers, and its last figure if any is another, are on the page."""
    page.select_option("select[name=model]", model)
    while not (times := page.evaluate(DRAWN)):
        time.sleep(0.05)  # a question takes the page's time too
    return [times[kind] and (times[kind] - times["chosen"]) / 1000 for kind in ("numbers", "figure")]


def visit(browser, address, name):
    """Seconds of the first use, seconds of each change after it, and bytes of script before."""
    context = browser.new_context()
    page, loaded = context.new_page(), []
    page.add_init_script(CLOCK)
    page.on("response", lambda answer: "/_static/live" in answer.url and loaded.append(answer))
    page.goto(f"{address}/book/{name}.html", wait_until="networkidle")
    script = sum(len(answer.body()) for answer in loaded if answer.url.partition("?")[0].endswith(".js"))
    page.evaluate("document.getElementById('hardware').open = true")
    first = chosen(page, MODELS[0])
    later = [chosen(page, MODELS[i % len(MODELS)]) for i in range(1, CHANGES + 1)]
    context.close()
    return first, later, script


def measured(browser, address, name):
    """Seconds of each kind, of all visits to a page; and its bytes of script before the first use."""
    seconds = {what: [] for what in LIMITS}
    for _ in range(STARTS):
        (numbers, figures), later, script = visit(browser, address, name)
        seconds["first numbers"].append(numbers)
        seconds["first figures"].append(figures)
        seconds["numbers"] += [numbers for numbers, _ in later]
        seconds["figures after them"] += [figures - numbers for numbers, figures in later if figures]
    return seconds, script


def told(name, seconds, script):
    """Print what was measured of a page; say whether a limit is passed."""
    print(f"{name}, {PAGES[name]}: {script / 1000:.1f} kB of script before the first use; limit {SCRIPT / 1000:.0f} kB")
    passed = script > SCRIPT
    for what, limit in LIMITS.items():
        times, asked = seconds[what], what not in LONGEST_ONLY or name == next(iter(PAGES))
        median = statistics.median(times)
        spread = f"{min(times):.2f} to {max(times):.2f} in {len(times)} runs"
        print(f"  {what:18} {median:6.2f} s" + (f", limit {limit} s" if asked else "") + f"  ({spread})")
        passed |= asked and median > limit
    return passed


def main():
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chromium or not (SITE / "_static" / "live" / "pyodide.mjs").exists():
        print("live pages: not measured; wanted Chromium, and a site with Python for the browser (make book)")
        return False
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET.split())
        address = f"http://127.0.0.1:{server.server_port}"
        passed = [told(name, *measured(browser, address, name)) for name in PAGES]
        browser.close()
        server.shutdown()
    one, _, fifteen = os.getloadavg()
    print(f"{os.cpu_count()} processors; load {one:.1f} now, {fifteen:.1f} over a quarter of an hour")
    return any(passed)


if __name__ == "__main__":
    sys.exit(main())
