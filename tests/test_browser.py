"""The built site in a browser: nothing asked of another host, no error, and it fits every window."""

import pytest

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
    first = page.locator("a.val").first
    key = first.get_attribute("href").partition("#")[2]
    first.click()
    page.wait_for_url(f"**#{key}")
    assert page.locator(f"[id='{key}']").is_visible()
