"""The built site in a browser: nothing asked of another host, no error, and it fits every window."""

import pytest
from playwright.sync_api import expect

from conftest import BOOK, listen

PAGES = sorted(path.stem for path in BOOK.glob("*.md"))


@pytest.fixture(params=PAGES)
def visit(request, browser, address):
    """Open the page, in a window of this width and theme; remember what it asked for and complained of."""
    contexts = []

    def opened(width, theme):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        contexts.append(context)
        page = listen(context.new_page())
        page.goto(f"{address}/book/{request.param}.html", wait_until="networkidle")
        return page

    yield opened
    for context in contexts:
        context.close()


def test_a_page_asks_nothing_of_other_hosts_and_runs_without_error(visit, address):
    page = visit(1400, "light")
    assert [url for url in page.asked if not url.startswith((address, "data:"))] == []
    assert page.complaints == []


@pytest.mark.parametrize("width", [1400, 390])
def test_a_page_is_no_wider_than_the_window(visit, width):
    assert visit(width, "light").evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, 390])
def test_the_caption_of_a_table_is_read_without_scrolling_it(visit, width):
    hidden = """() => [...document.querySelectorAll("table > caption")].filter((caption) => {
      const box = (caption.closest(".pst-scrollable-table-container") ?? document.body).getBoundingClientRect();
      return caption.querySelector(".caption-text")?.getBoundingClientRect().right > box.right + 1;
    }).map((caption) => caption.parentElement.id)"""
    assert visit(width, "light").evaluate(hidden) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_figure_shows_the_version_for_its_theme_and_its_caption(visit, theme):
    page = visit(1400, theme)
    for figure in page.query_selector_all("figure.costlib"):
        shown = {name: figure.query_selector(f".only-{name}").is_visible() for name in ("light", "dark")}
        assert shown == {"light": theme == "light", "dark": theme == "dark"}
        assert figure.query_selector("figcaption").is_visible()


def test_formulas_are_set(visit):
    page = visit(1400, "light")
    for formula in page.query_selector_all(".math"):
        assert formula.query_selector("mjx-container"), formula.inner_text()


def test_a_number_in_a_sentence_leads_to_its_cell(visit):
    page = visit(1400, "light")
    # One that is an input has become a dial; the page that compares scenarios quotes words alone.
    first = page.locator("a.val[href], a.verdict[href]").first
    key = first.get_attribute("href").partition("#")[2]
    first.click()
    page.wait_for_url(f"**#{key}")
    assert page.locator(f"[id='{key}']").is_visible()


# ---------------------------------------------------------------- the policy of each page


@pytest.fixture
def opened(browser):
    """A page of the browser, which remembers what it complains of."""
    context = browser.new_context()
    yield listen(context.new_page())
    context.close()


@pytest.mark.parametrize("path", ["index.html", "genindex.html", "search.html?q=roofline"])
def test_pages_beside_the_book_work_under_their_policy(opened, address, path):
    opened.goto(f"{address}/{path}", wait_until="networkidle")
    if "search" in path:
        expect(opened.locator("#search-results li").first).to_be_visible()
    assert opened.complaints == []


ADDED = {
    "script": "const s = document.createElement('script'); s.text = 'window.ran = true'; document.body.append(s)",
    "handler": "document.body.insertAdjacentHTML('beforeend', '<img src=x: onerror=\"window.ran = true\">')",
    "elsewhere": "const s = document.createElement('script'); s.src = 'http://127.0.0.2/a.js'; document.body.append(s)",
    "request": "fetch('http://127.0.0.2/').catch(() => 0); 0",
    "text": "setTimeout(() => eval('window.ran = true')); 0",
}


@pytest.mark.parametrize("what", ADDED)
def test_a_script_that_is_added_to_a_page_does_not_run(opened, address, what):
    opened.goto(f"{address}/book/catalog.html", wait_until="networkidle")
    assert opened.complaints == []
    opened.evaluate(ADDED[what])
    opened.wait_for_timeout(100)
    assert not opened.evaluate("window.ran")
    assert "Content Security Policy" in " ".join(opened.complaints)


def test_the_theme_still_prints_and_hides_what_a_search_has_marked(opened, address):
    opened.add_init_script("window.print = () => { window.printed = true }")
    opened.goto(f"{address}/book/catalog.html?highlight=model", wait_until="networkidle")
    opened.locator(".dropdown-download-buttons").click()
    opened.locator("[data-does=print]").click()
    assert opened.evaluate("window.printed")
    assert opened.locator("span.highlighted").count() > 0
    opened.locator(".highlight-link a").evaluate("link => link.click()")
    assert opened.locator("span.highlighted").count() == 0
    assert opened.complaints == []
