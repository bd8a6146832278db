"""The live pages in Chromium: Python in the reader's browser computes what the build and the command line compute.

A page starts Python once and is shared by the tests that only change its inputs: each
leaves it as published. Times are not asserted; a slow machine takes longer.
"""

import contextlib
import json
import re
import time
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from conftest import BOOK, code_of, listen
from costlib import catalog
from costlib.book import FILES
from costlib.book.live import absent, inputs
from costlib.book.live.fields import FIELDS
from costlib.book.live.page import Page
from costlib.book.live.running import Session
from costlib.units import Quantity

PAGES = sorted(path.stem for path in BOOK.glob("*.md"))
PATIENCE = 240  # seconds
expect.set_options(timeout=PATIENCE * 1000)

# What goes to the worker and what comes from it, for who looks on.
EAR = """
window.asked = 0; window.heard = []; window.workers = 0;
const Real = Worker;
window.Worker = class extends Real {
  constructor(...given) {
    super(...given);
    window.worker = this;
    window.workers++;
    this.addEventListener("message", ({ data }) => { if (data.kind !== "loading") window.heard.push(data); });
  }
  postMessage(message) { if (message.call) window.asked = message.request; super.postMessage(message); }
};
"""


class Reader:
    """A page and who reads it."""

    def __init__(self, context, address, page="output-cost"):
        self.address = address
        self.page = listen(context.new_page())
        self.page.add_init_script(EAR)
        self.name = page

    def open(self, query="", at=""):
        self.page.goto(f"{self.address}/book/{self.name}.html{query}{at}", wait_until="networkidle")
        return self

    def until(self, script):
        """Wait until a script says so; the page's policy forbids Playwright's own way."""
        end = time.monotonic() + PATIENCE
        while not (answer := self.page.evaluate(script)):
            assert time.monotonic() < end, (script, self.status(), self.page.complaints)
            time.sleep(0.05)
        return answer

    def settled(self):
        """Wait until Python has answered all that was asked."""
        self.page.wait_for_timeout(600)  # typing counts after a while
        self.until("asked > 0 && heard.some(({kind, request}) => kind === 'done' && request === asked)")
        return self

    def drawn(self):
        self.until("heard.some(({kind}) => kind === 'figure')")
        self.until("!document.querySelector('.live-waits')")
        return self

    def status(self):
        return self.page.locator(".hardware-status").text_content()

    def article(self):
        """The page's own content; the control's above it is another matter."""
        parts = "[...document.querySelectorAll('article > :not(.hardware, .hardware-bar)')].map((e) => e.outerHTML)"
        return re.sub(r" ?\bactive\b", "", "".join(self.page.evaluate(parts)))  # the theme marks where the reader is

    def choose(self, **parts):
        self.show_control()
        for key, name in parts.items():
            self.page.locator(f"[name='{key}']").select_option(name)

    def type(self, key, text):
        self.show_control()
        self.page.locator(f"[name='{key}']").fill(text)

    def show_control(self):
        self.page.evaluate("document.querySelectorAll('#hardware, #hardware details').forEach((e) => (e.open = true))")

    def value(self, key):
        return self.page.locator(f"article p data[data-key='{key}']").first

    def problem(self, key):
        return self.page.locator(f"[id='problem-{key}']")

    def notice(self, key):
        return self.page.locator(f"[id='notice-{key}']")

    def take(self, query):
        """Go to other inputs as by the browser's own buttons, without loading the page anew."""
        self.page.evaluate(
            "(query) => { history.pushState(null, '', query); dispatchEvent(new PopStateEvent('popstate')) }", query
        )
        return self.settled()

    def records(self):
        """Every value that Python has told, the last of each."""
        return self.page.evaluate(
            "Object.assign({}, ...heard.filter(({kind}) => kind === 'numbers').map((m) => m.values))"
        )


@pytest.fixture(scope="module")
def contexts(browser):
    with contextlib.ExitStack() as stack:

        def opened(**options):
            context = browser.new_context(viewport={"width": 1400, "height": 900}, **options)
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE * 1000)
            return context

        yield opened


@pytest.fixture
def context(browser):
    with contextlib.closing(browser.new_context(viewport={"width": 1400, "height": 900})) as context:
        context.set_default_timeout(PATIENCE * 1000)
        yield context


@pytest.fixture(scope="module")
def started(contexts, address):
    """A page whose Python runs."""
    reader = Reader(contexts(), address).open()
    reader.choose(accelerator="h200-sxm")
    reader.settled().drawn()
    reader.pristine = None
    return reader


@pytest.fixture
def reader(started):
    """The page with Python, as published; what a test leaves is taken back."""
    if started.page.evaluate("location.search || document.querySelector('.live-edited, .live-editor') ? 1 : 0"):
        started.page.locator("form.hardware-form [type=reset]").evaluate("(button) => button.click()")
        started.settled()
    started.page.evaluate("scrollTo(0, 0)")
    return started


# ---------------------------------------------------------------- before the first use


@pytest.mark.parametrize("name", PAGES)
def test_a_page_before_the_first_use_loads_no_python_and_little_script(context, address, name):
    reader = Reader(context, address, name)
    sizes = {}
    reader.page.on("response", lambda answer: sizes.update({answer.url: answer}))
    reader.open()
    asked = [url for url in sizes if "/live" in url]
    script = [url for url in asked if url.partition("?")[0].endswith(".js")]
    assert script and not [url for url in asked if "/live/" in url]
    assert sum(len(sizes[url].body()) for url in script) <= 40_000
    assert reader.page.evaluate("workers") == 0


def test_without_a_script_the_page_is_the_published_one(browser, address):
    with contextlib.closing(browser.new_context(java_script_enabled=False)) as context:
        page = context.new_page()
        page.goto(f"{address}/book/output-cost.html?accelerator=h200-sxm")
        assert not page.locator("#hardware").is_visible() and not page.locator(".hardware-bar").is_visible()
        assert page.locator("article data[data-key=output-input-ratio]").first.text_content() == "295"


def test_opening_the_control_starts_nothing(context, address):
    reader = Reader(context, address).open()
    reader.page.locator("#hardware > summary").click()
    reader.page.locator("[name='workload.context']").focus()
    assert reader.page.evaluate("workers") == 0


# ---------------------------------------------------------------- the published values, computed again


OWN = {"change-the-hardware", "comparison"}  # pages about the reader's scenario, as soon as there is one


def what_stays(name):
    """Cells of a page that follow the scenario and need more than a browser has, each with the reason: found here."""
    page, session = Page(code_of(BOOK / f"{name}.md")), Session()
    session.scenario = inputs.load({})
    with absent.standing_in(absent.NATIVE), session.around(), contextlib.chdir(BOOK):
        page.run(page.numbers() & page.live, session)
    return {number: result.text for number, result in enumerate(page.results) if result and result.why == "absent"}


@pytest.mark.parametrize("name", PAGES)
def test_the_published_inputs_give_the_published_page(context, address, site, name):
    """With the reference's values written out, so that Python does compute; then all cells that run here."""
    reader = Reader(context, address, name)
    published = json.loads((site / "_static" / "live" / "book.json").read_text("utf-8"))["values"]
    reader.open(f"?{urlencode({f.key: f.published for f in FIELDS if f.published})}").settled()
    answers = reader.page.evaluate("heard.filter(({kind}) => kind === 'numbers')")
    stays = {int(cell): m["stays"][cell] for m in answers for cell, why in m["why"].items() if why == "absent"}
    assert stays == what_stays(name)
    for key, record in reader.records().items():
        if record["number"] and name not in OWN:
            assert record["printed"] == published[key]["printed"], key
            assert record["value"] == pytest.approx(published[key]["value"], rel=1e-9), key
    shown = reader.page.evaluate("[...document.querySelectorAll('.live-changed')].map((e) => e.textContent)")
    assert name in OWN or [text for text in shown if "mine" not in text and "your scenario" not in text] == []
    reader.page.locator("form.hardware-form [type=reset]").evaluate("(button) => button.click()")
    reader.settled()
    reader.page.evaluate("worker.postMessage({ request: ++asked, call: 'run_all', given: [] })")
    reader.settled()
    records = reader.records()
    assert {key: record["printed"] for key, record in records.items()} == {
        key: published[key]["printed"] for key in records
    }
    answers = reader.page.evaluate("heard.filter(({kind}) => kind === 'numbers')")
    assert [m["stays"][cell] for m in answers for cell, why in m["why"].items() if why == "failed"] == []


def scenarios():
    """Twenty over the catalog: every second model, each with another card and node, half of them in 16 bits."""
    cards, nodes = catalog.names("accelerator"), catalog.names("node")
    for i, model in enumerate(catalog.names("model")[::2]):
        given = {"model": model, "accelerator": cards[i % len(cards)], "node": nodes[i % len(nodes)]}
        if i % 2:
            given |= {"precision.weights": "2 byte/parameter", "precision.arithmetic": "16-bit"}
        yield given | ({"workload.context": f"{2 ** (12 + i % 6)} token"} if i % 3 else {})


@pytest.fixture(scope="module")
def ledger(contexts, address):
    """The page that quotes what every page states."""
    return Reader(contexts(), address, "reproduction").open("?accelerator=h200-sxm").settled()


@pytest.mark.parametrize("given", list(scenarios()), ids=lambda given: " ".join(given.values()))
def test_a_page_computes_what_the_command_prints(ledger, run, tmp_path, given):
    ledger.take(f"?{urlencode(given)}")
    file = tmp_path / "mine.toml"
    file.write_text(inputs.scenario_text(given), encoding="utf-8")
    code, out, _ = run("show", "--json", file)
    if code:
        assert (
            ledger.page.evaluate("heard.findLast(({kind}) => kind !== 'done' && kind !== 'answered').kind") == "refused"
        )
        return
    assert ledger.page.evaluate("Object.fromEntries(new URLSearchParams(location.search))") == given
    values, records = json.loads(out)["values"], ledger.records()
    compared = values.keys() & records.keys()
    assert len(compared) > 10
    for key in compared:
        wanted = Quantity(values[key]["value"], values[key]["unit"]).m_as(records[key]["unit"])
        assert records[key]["value"] == pytest.approx(wanted, rel=1e-9), key
    quoted = "[...document.querySelectorAll('table.ledger data')].map((e) => [e.dataset.key, e.textContent])"
    shown = [(key, text.replace("\u00a0", " ")) for key, text in ledger.page.evaluate(quoted)]
    assert {key: text for key, text in shown if key in compared} == {
        key: records[key]["printed"] for key, _ in shown if key in compared
    }


def test_the_ledger_does_not_say_that_a_readers_values_agree(ledger):
    ledger.take("?accelerator=h200-sxm")
    row = ledger.page.locator("#ledger-output-cost tr:has(data[data-key=output-input-ratio])")
    expect(row.locator("td").nth(2)).to_have_text("206")
    expect(row.locator("td").nth(3)).to_have_text("published: 295")
    expect(ledger.page.locator("#ledger-output-cost caption")).to_contain_text("of the published values")


# ---------------------------------------------------------------- a change


def test_a_change_reaches_sentences_boxes_tables_and_figures_and_is_marked(reader):
    page = reader.page
    drawings = page.evaluate("heard.filter(({kind}) => kind === 'figure').length")
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    expect(reader.value("output-input-ratio")).to_have_text("206")
    expect(reader.value("output-input-ratio")).to_have_class("live-changed")
    expect(reader.value("decode-floor")).to_have_text("14.7\u00a0ms")
    box = page.locator("#output-input-ratio")
    expect(box.locator("strong")).to_have_text("206")
    expect(box).to_contain_text("published: 295")
    expect(box).not_to_contain_text("✓")
    expect(page.locator("#prefill-time")).to_contain_text("✓")  # the same arithmetic: what is stated still agrees
    cell = page.locator("#tab-precisions tbody tr").nth(0).locator("td").nth(1)
    expect(cell).to_have_text("206")
    expect(cell).to_have_class("live-changed")
    page.wait_for_timeout(100)
    reader.until("!document.querySelector('.live-waits')")
    assert page.evaluate("heard.filter(({kind}) => kind === 'figure').length") > drawings
    for theme in ("light", "dark"):
        image = page.locator(f"#fig-roofline img.only-{theme}")
        assert image.get_attribute("src").startswith("data:image/svg+xml")
        assert "412" in image.get_attribute("alt")
        assert image.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 100
    expect(page.locator("#fig-roofline figcaption")).to_contain_text("206")
    expect(page.locator(".hardware-status")).to_have_text(re.compile(r"\d+ values, \d+ tables and \d+ figures differ"))
    expect(page.locator("#hardware > summary")).to_contain_text("Yours: NVIDIA H200")


def test_what_was_published_is_told_on_hovering_and_on_focus_until_escape(reader):
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    tip, link = (
        reader.page.locator("#live-tip"),
        reader.page.locator("a:has(> data[data-key=output-input-ratio])").first,
    )
    link.hover()
    expect(tip).to_have_text("published 295, yours 206")
    tip.hover()
    reader.page.wait_for_timeout(400)
    assert tip.is_visible()
    reader.page.keyboard.press("Escape")
    assert not tip.is_visible()
    reader.page.mouse.move(0, 0)
    link.focus()
    expect(tip).to_be_visible()
    assert link.get_attribute("aria-describedby") == "live-tip"
    link.blur()
    assert not tip.is_visible()
    reader.page.locator("#tab-precisions td.live-changed").first.hover()
    expect(tip).to_have_text("published 295, yours 206")


def test_a_table_and_a_figure_can_be_seen_as_published(reader):
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    button = reader.page.locator("[data-of=tab-precisions]")
    button.click()
    assert not reader.page.locator("#tab-precisions").is_visible()
    expect(reader.page.locator(".live-published td").nth(1)).to_have_text("295")
    button.click()
    assert reader.page.locator("#tab-precisions").is_visible() and not reader.page.locator(".live-published").count()


def test_one_click_brings_the_published_page_back_to_the_last_character(contexts, address):
    reader = Reader(contexts(), address, "attention-state").open()
    before = reader.article()
    reader.choose(accelerator="h200-sxm", model="deepseek-v3")
    reader.settled().drawn()
    assert reader.article() != before
    reader.page.locator("article a:has(> data.live-changed)").first.hover()
    reader.page.locator("[data-of^=tab-]").first.click()
    reader.page.locator(".hardware-back").click()
    assert reader.article() == before
    assert "?" not in reader.page.url
    assert reader.page.locator("[name=model]").input_value() == ""
    reader.settled()
    assert reader.article() == before  # also when Python has followed
    reader.page.close()


def test_old_answers_never_overwrite_newer_ones(reader):
    for tokens in range(1000, 9000, 500):
        reader.page.locator("[name='workload.context']").evaluate(
            "(field, text) => { field.value = text; field.dispatchEvent(new Event('change', { bubbles: true })) }",
            f"{tokens} token",
        )
    reader.settled()
    assert "workload.context=8500+token" in reader.page.url
    expect(reader.value("workload-context")).to_have_text("8,500\u00a0tokens")
    assert reader.page.evaluate("asked") < 100


# ---------------------------------------------------------------- inputs that cannot be used


def test_a_wrong_unit_is_refused_beside_its_field_and_nothing_on_the_page_changes(reader):
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    before, address = reader.article(), reader.page.url
    reader.type("workload.context", "65536 GB")
    reader.settled()
    expect(reader.problem("workload.context")).to_contain_text("wanted context of a trajectory")
    field = reader.page.locator("[name='workload.context']")
    assert field.get_attribute("aria-invalid") == "true"
    assert "problem-workload.context" in field.get_attribute("aria-describedby")
    assert (reader.article(), reader.page.url) == (before, address)
    reader.type("workload.context", "65536 token")
    reader.settled()
    expect(reader.problem("workload.context")).to_have_text("")
    assert field.get_attribute("aria-invalid") is None and "65536+token" in reader.page.url


def test_a_notice_gives_way_to_what_is_wrong_in_its_field(reader):
    reader.take("?workload.context=16384+token")
    expect(reader.notice("workload.context")).to_contain_text("more than the context of 16,384 tokens")
    reader.show_control()
    assert reader.notice("workload.context").is_visible()
    reader.type("workload.context", "1")
    expect(reader.problem("workload.context")).to_contain_text("more than the whole context")
    assert not reader.notice("workload.context").is_visible()
    field = reader.page.locator("[name='workload.context']")
    expect(field).not_to_have_accessible_description(re.compile("more than the context of 16,384 tokens"))


def test_an_address_that_makes_no_scenario_is_refused_and_leaves_the_page(context, address):
    reader = Reader(context, address).open("?accelerator=h9000&workload.nonsense=1")
    reader.settled()
    expect(reader.problem("accelerator")).to_contain_text("h9000")
    expect(reader.page.locator(".hardware-status")).to_contain_text("The page shows the published values")
    assert not reader.page.locator(".live-changed").count()


def test_what_is_worth_a_word_stands_beside_its_field_and_blocks_nothing(contexts, address):
    reader = Reader(contexts(), address).open()
    reader.page.locator("#hardware > summary").click()
    reader.page.locator("[name=model]").select_option("llama-3.1-405b")
    reader.page.locator("[name=accelerator]").select_option("l4")
    reader.settled()
    notice, field = reader.notice("accelerator"), reader.page.locator("[name=accelerator]")
    expect(notice).to_have_text(
        "It does not fit: weights of 2 B/parameter and runtime take 831.7 GB, and the node has 193.2 GB. "
        "NVIDIA L4 24 GB: such accelerators are connected by PCIe 4.0 x16; the 8 of this node are on NVLink 4. "
        "Choose a node with that link, or enter its bandwidth, 32 GB/s."
    )
    assert "notice-accelerator" in field.get_attribute("aria-describedby")
    assert field.get_attribute("aria-invalid") is None
    expect(reader.page.locator(".hardware-status")).to_contain_text("831.7 GB")
    reader.take("?workload.prompt=40000+token")
    expect(notice).to_have_text("")
    expect(reader.notice("workload.prompt")).to_be_visible()  # its group is folded no more
    expect(reader.page.locator(".hardware-status")).to_contain_text("more than the context of 32,768 tokens")
    reader.page.locator(".hardware-back").click()
    expect(reader.notice("workload.prompt")).to_have_text("")
    reader.page.close()


def test_what_is_heard_as_it_happens_describes_the_field_only_for_who_comes_back(reader):
    reader.show_control()
    field = reader.page.locator("[name='workload.prompt']")
    field.fill("40000 token")
    expect(reader.notice("workload.prompt")).to_contain_text("more than the context")
    assert field.get_attribute("aria-describedby") == "problem-workload.prompt"  # the status says it
    expect(reader.page.locator(".hardware-status")).to_contain_text("more than the context of 32,768 tokens")
    field.blur()
    expect(field).to_have_accessible_description(re.compile("more than the context of 32,768 tokens"))
    reader.settled()


HEARING = """() => {
  const status = document.querySelector(".hardware-status");
  window.said = [];
  const hears = () => said.push(...[status.textContent.trim()].filter((text) => !text.startsWith("Running")));
  new MutationObserver(hears).observe(status, { childList: true });
  const hear = worker.onmessage; // figures come late, as on a slow machine
  worker.onmessage = (event) => (event.data.kind === "numbers" ? hear(event) : setTimeout(hear, 700, event));
}"""


def test_each_change_is_heard_once_and_no_sentence_beside_a_field_a_second_time(contexts, address):
    reader = Reader(contexts(), address).open("?model=llama-3.1-405b").settled()
    reader.until("!document.querySelector('.live-waits')")
    reader.page.wait_for_timeout(1500)
    reader.page.evaluate(HEARING)

    def heard(act):
        act()
        reader.settled()
        reader.until("said.length")
        reader.page.wait_for_timeout(1500)
        return reader.page.evaluate("said.splice(0)")

    (said,) = heard(lambda: reader.choose(accelerator="l40s"))
    assert "It does not fit" in said and "are on NVLink 4" in said and re.search("and [0-9]+ figures", said)
    (said,) = heard(lambda: reader.choose(node="pcie-4-8"))
    assert "It does not fit" not in said and reader.notice("node").text_content().startswith("It does not fit")
    same = [heard(lambda n=n: reader.type("workload.batch", f"{n} streams")) for n in (65, 66, 67)]
    assert len(same[0]) == 1 and same[0] == same[1] == same[2]  # in the same words
    reader.type("workload.batch", "1 GB")
    reader.until("said.length")
    reader.page.evaluate("said.splice(0)")
    refused = [heard(lambda n=n: reader.choose(model=n)) for n in ("qwen3-14b", "llama-3.1-8b")]
    assert len(refused[1]) == 1 and "not computed" in refused[1][0] and refused[0] == refused[1]
    button = reader.page.locator("form.hardware-form [type=reset]")
    for _ in range(2):
        assert heard(lambda: button.evaluate("(button) => button.click()")) == ["The page shows the published values."]
    reader.page.close()


# ---------------------------------------------------------------- values of one's own


def test_fields_say_what_the_chosen_card_has_and_are_empty_where_it_has_none(reader):
    rate = reader.page.locator("[name='accelerator.rate_4bit']")
    assert rate.get_attribute("placeholder") == ""
    reader.choose(accelerator="b200-sxm")
    reader.settled()
    assert rate.get_attribute("placeholder") == "9000 Top/s"
    assert reader.page.locator("[name='accelerator.title']").get_attribute("placeholder").startswith("NVIDIA B200")
    reader.choose(accelerator="l4")
    reader.settled()
    assert rate.get_attribute("placeholder") == ""


def test_a_card_of_ones_own_is_entered_and_goes_where_another_is_chosen(reader):
    own = {"title": "Ours", "rate_8bit": "1 Pop/s", "bandwidth": "5 TB/s"}
    for name, text in own.items():
        reader.type(f"accelerator.{name}", text)
    reader.settled()
    expect(reader.value("accelerator-name")).to_have_text("Ours")
    expect(reader.value("output-input-ratio")).to_have_text("100")
    expect(reader.page.locator("#hardware > summary")).to_have_text("Change the hardware. Yours: Ours")
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    expect(reader.value("output-input-ratio")).to_have_text("206")
    assert reader.page.url.endswith("?accelerator=h200-sxm")
    assert reader.page.locator("[name='accelerator.bandwidth']").input_value() == ""


@pytest.mark.parametrize(
    ("part", "name", "goes"),
    [
        ("model", "qwen3-8b", ["model.parameters"]),
        ("accelerator", "h200-sxm", ["accelerator.memory", "accelerator.rate_4bit"]),
        (
            "node",
            "pair-pcie-4",
            ["node.accelerators", "link.bandwidth", "link.latency", "host_link.bandwidth", "host_link.latency"],
        ),
    ],
)
def test_what_was_typed_for_a_part_goes_with_it_and_for_the_others_stays(reader, part, name, goes):
    typed = {
        "link.bandwidth": "800 GB/s",
        "host_link.bandwidth": "60 GB/s",
        "model.parameters": "71 billion parameters",
        "accelerator.memory": "90 GB",
        "accelerator.rate_4bit": "5000 Top/s",
        "node.accelerators": "4 accelerators",
        "link.latency": "2000 ns",
        "host_link.latency": "3000 ns",
        "workload.context": "16000 tokens",
    }
    reader.take(f"?{urlencode(typed)}")
    reader.choose(**{part: name})
    reader.settled()
    left = reader.page.evaluate("[...new URLSearchParams(location.search).keys()]")
    assert set(left) == {part, *typed} - set(goes)


def test_links_chosen_by_name_go_with_their_node_too(reader):
    reader.take("?node=pair-pcie-4&link=nvlink-4&host_link=pcie-5-x16")
    reader.choose(node="hgx-8-nvlink-3")
    reader.settled()
    assert reader.page.url.endswith("?node=hgx-8-nvlink-3")


DEEPSEEK = FILES / "configs/deepseek-ai--DeepSeek-V3.json"
MIXTRAL = FILES / "configs" / "mistralai--Mixtral-8x7B-v0.1.json"
CHOSEN = "(select) => select.selectedOptions[0].text"


def test_the_file_of_a_model_is_read_in_the_browser_and_named_by_its_title(contexts, address, run, tmp_path):
    """Before anything else; Python starts for it. The command line gives the same."""
    reader = Reader(contexts(), address, "attention-state").open()
    page, model = reader.page, reader.page.locator("[name=model]")
    page.locator("#hardware > summary").click()
    page.locator("#model-file").set_input_files(MIXTRAL)
    reader.until("new URLSearchParams(location.search).has('model.attention')")
    reader.settled()
    title = model.evaluate(CHOSEN)
    assert title == "mistralai/Mixtral-8x7B-v0.1"
    expect(page.locator("#hardware > summary")).to_have_text(
        f"Change the hardware. Yours: {title}, weights as read 2 B/parameter, arithmetic 16-bit, "
        "weights in memory 2 B/parameter"
    )
    assert not [url for url in page.asked if "Mixtral" in url]
    with page.expect_download() as download:
        page.locator(".hardware-file").click()
    download.value.save_as(tmp_path / "mine.toml")
    code, out, _ = run("show", "--json", tmp_path / "mine.toml")
    told, records = json.loads(out)["values"], reader.records()
    compared = told.keys() & records.keys()
    assert code == 0 and compared
    for key in compared:
        wanted = Quantity(told[key]["value"], told[key]["unit"]).m_as(records[key]["unit"])
        assert records[key]["value"] == pytest.approx(wanted, rel=1e-9), key
    page.reload()
    reader.settled()
    assert model.evaluate(CHOSEN) == title
    page.go_back()
    expect(page.locator("#hardware > summary")).to_have_text("Change the hardware")
    assert model.input_value() == ""
    page.go_forward()
    expect(page.locator("#hardware > summary")).to_contain_text(title)
    reader.choose(model="qwen3-8b")
    reader.settled()
    assert page.url.endswith("?model=qwen3-8b") and not page.locator(".hardware-own").count()
    page.close()


def test_a_file_takes_the_weights_of_the_file_before_it_along(reader):
    field = reader.page.locator("[name='precision.weights']")
    reader.show_control()
    reader.page.locator("#model-file").set_input_files(MIXTRAL)
    expect(field).to_have_value("2 B/parameter")
    expect(reader.page.locator("[name='model.parameters']")).to_have_value("46.702792704 billion parameters")
    reader.page.locator("#model-file").set_input_files(DEEPSEEK)
    expect(reader.page.locator("#notice-precision\\.weights")).to_contain_text("does not say what a weight takes")
    expect(field).to_have_value("")


def test_from_the_model_of_a_file_one_goes_back_to_the_published(reader):
    before = reader.article()
    reader.page.locator("#model-file").set_input_files(MIXTRAL)
    reader.until("new URLSearchParams(location.search).has('model.attention')")
    reader.choose(model="")
    expect(reader.page.locator(".hardware-status")).to_have_text("The page shows the published values.")
    assert reader.article() == before


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", b"{", "is not JSON"),
        ("large.json", b"[" * (2**24 + 1), "large.json cannot be read"),
        ("model.gguf", b"GGUF", "a GGUF file"),
        ("a.json", b'{"model_type": "nonsense"}', "nonsense"),
        ("<b>.json", b"\xff\x00", "<b>.json"),
        ("deep.json", b"[" * 100_000, "deep.json: is nested more than 60 deep"),
    ],
    ids=["no JSON", "large", "GGUF", "unknown", "no text", "deep"],
)
def test_a_file_that_makes_no_model_is_refused_beside_the_field(reader, tmp_path, name, content, said):
    reader.take("?accelerator=h200-sxm").drawn()
    before, at = reader.article(), reader.page.url
    (tmp_path / name).write_bytes(content)
    reader.page.locator("#model-file").set_input_files(tmp_path / name)
    expect(reader.problem("model")).to_contain_text(said)
    expect(reader.page.locator(".hardware-status")).to_contain_text("the page stays as it was")
    assert (reader.article(), reader.page.url) == (before, at)
    reader.choose(accelerator="l4")
    reader.settled()
    expect(reader.problem("model")).to_have_text("")


ONCE_LATE = """(() => {
  const post = worker.postMessage.bind(worker);
  worker.postMessage = (message) => { delete worker.postMessage; setTimeout(post, 600, message) };
})()"""


def test_what_is_being_typed_outlives_the_answer_to_a_file(reader):
    field = reader.page.locator("[name='workload.context']")
    reader.show_control()
    reader.page.evaluate(ONCE_LATE)
    reader.page.locator("#model-file").set_input_files(MIXTRAL)
    field.press_sequentially("65536 token", delay=180)
    reader.settled()
    expect(field).to_have_value("65536 token")
    assert "model.attention" in reader.page.url and "workload.context=65536+token" in reader.page.url


def test_the_button_for_a_file_is_reached_by_the_keyboard_and_says_what_it_is(reader):
    reader.show_control()
    reader.page.locator("[name=model]").focus()
    reader.page.keyboard.press("Shift+Tab")
    assert reader.page.evaluate("document.activeElement.id") == "model-file"
    label = reader.page.locator("#model-file + label")
    assert label.evaluate("(label) => getComputedStyle(label).outlineStyle") == "solid"
    file = reader.page.get_by_label("or its config.json")
    pressed = "(file) => file.addEventListener('click', (event) => event.preventDefault(window.pressed = true))"
    file.evaluate(pressed)  # and no dialogue opens
    reader.page.keyboard.press("Space")
    reader.until("window.pressed")
    assert "hardware-kept" in file.get_attribute("aria-describedby")


# ---------------------------------------------------------------- the address


def test_the_inputs_live_in_the_address(contexts, address):
    reader = Reader(contexts(), address).open()  # with a history of its own
    page = reader.page
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    assert page.url.endswith("?accelerator=h200-sxm")
    reader.choose(accelerator="l4")
    reader.settled()
    page.go_back()
    reader.settled()
    expect(reader.value("output-input-ratio")).to_have_text("206")
    assert page.locator("[name=accelerator]").input_value() == "h200-sxm"
    page.go_forward()
    reader.settled()
    assert page.locator("[name=accelerator]").input_value() == "l4" and "l4" in page.url
    page.go_back()
    page.go_back()
    reader.settled()
    expect(reader.value("output-input-ratio")).to_have_text("295")
    assert "accelerator" not in page.url
    page.close()


def test_each_step_of_a_reader_has_its_own_place_in_the_history(contexts, address):
    """After a refused address, after a step back in the middle of typing, and dragged."""
    reader = Reader(contexts(), address).open("?accelerator=h9000")
    page = reader.page
    seen = [page.url]

    def step(act):
        act()
        reader.settled()
        seen.append(page.url)

    reader.settled()
    expect(reader.problem("accelerator")).to_contain_text("h9000")
    step(lambda: reader.choose(accelerator="l4"))
    step(lambda: reader.type("workload.context", "9000 token"))
    page.go_back()
    reader.settled()
    seen.pop()
    step(lambda: page.locator("[name='workload.context']").press_sequentially("10000 token"))
    dial = page.get_by_role("spinbutton", name="Context").first
    dial.scroll_into_view_if_needed()
    box = dial.bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
    page.mouse.down()
    step(lambda: page.mouse.move(box["x"] + 80, box["y"] + box["height"] / 2, steps=15))
    page.mouse.up()
    assert len(set(seen)) == 4
    for url in reversed(seen):
        assert page.url == url
        page.go_back()
        page.wait_for_timeout(100)
    page.close()


def test_two_tabs_do_not_disturb_each_other(contexts, address):
    context = contexts()
    first, second = (Reader(context, address).open(f"?accelerator={card}") for card in ("h200-sxm", "l4"))
    for reader in (second.settled(), first.settled()):
        reader.type("workload.context", "65536 token")
        reader.settled()
    for reader, ratio in ((first, "206"), (second, "403")):
        expect(reader.value("output-input-ratio")).to_have_text(ratio)
        expect(reader.value("workload-context")).to_have_text("65,536\u00a0tokens")
        reader.page.close()


def test_while_python_starts_for_a_link_the_page_says_above_it_that_it_is_still_the_published(contexts, address):
    context, still = contexts(), "The page still shows the published values."
    held = []
    context.route("**/_static/live/book.json", lambda route: held.append(route))
    reader = Reader(context, address)
    reader.page.goto(f"{address}/book/output-cost.html?accelerator=h200-sxm", wait_until="load")
    summary, status = reader.page.locator("#hardware > summary"), reader.page.locator(".hardware-status")
    expect(summary).to_have_text(f"Change the hardware. {still} Being computed: NVIDIA H200 SXM 141 GB")
    expect(status).to_have_text(re.compile(rf"Loading Python.*\. {still}"))
    while not held:
        reader.page.wait_for_timeout(50)
    for route in held:
        route.continue_()
    reader.settled()
    expect(summary).to_have_text("Change the hardware. Yours: NVIDIA H200 SXM 141 GB")
    expect(status).not_to_contain_text(still)
    reader.page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_no_list_cuts_off_what_it_stands_at(reader, width):
    page = reader.page
    page.set_viewport_size({"width": width, "height": 900})
    reader.show_control()
    cut = page.evaluate("""() => {
      const pen = document.createElement("canvas").getContext("2d");
      return [...document.querySelectorAll(".hardware-form select")].flatMap((list) => {
        const { font } = getComputedStyle(list);
        const room = list.clientWidth - 32; // its padding and its arrow
        pen.font = font;
        return [...list.options].map(({ text }) => text).filter((text) => pen.measureText(text).width > room);
      });
    }""")
    page.set_viewport_size({"width": 1400, "height": 900})
    assert cut == []


def test_a_link_to_another_page_and_a_reload_keep_the_inputs(contexts, address):
    reader = Reader(contexts(), address).open("?accelerator=h200-sxm&highlight=decode").settled()
    reader.page.reload()
    reader.settled()
    expect(reader.value("output-input-ratio")).to_have_text("206")
    reader.page.locator(".bd-sidebar-primary a[href*='attention-state']").first.click()
    reader.page.wait_for_url("**/attention-state.html?accelerator=h200-sxm")
    reader.page.close()


def test_the_scenario_file_is_what_the_command_reads(reader, tmp_path, run):
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    with reader.page.expect_download() as download:
        reader.page.locator(".hardware-file").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    code, out, _ = run("show", "--json", file)
    assert code == 0 and "H200" in json.loads(out)["parts"]["accelerator"]


def test_another_place_of_the_page_is_no_other_scenario(contexts, address):
    reader = Reader(contexts(), address).open()
    reader.choose(accelerator="h200-sxm")
    reader.page.evaluate("location.hash = '#output-input-ratio'")  # while Python is still loading
    reader.settled()
    expect(reader.value("output-input-ratio")).to_have_text("206")
    reader.type("workload.context", "-5 token")
    reader.settled()
    reader.page.evaluate("location.hash = '#decode-floor'")
    reader.page.wait_for_timeout(500)
    expect(reader.problem("workload.context")).to_contain_text("-5 token")
    assert reader.page.locator("[name='workload.context']").input_value() == "-5 token"
    reader.page.close()


def test_inputs_ahead_in_the_history_are_taken_also_after_a_reload(contexts, address):
    reader = Reader(contexts(), address).open()
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    reader.page.go_back()
    reader.settled()
    reader.page.reload(wait_until="networkidle")
    reader.page.go_forward()
    expect(reader.value("output-input-ratio")).to_have_text("206")
    reader.page.close()


def test_what_was_stopped_is_in_the_address_no_more(contexts, address):
    reader = Reader(contexts(), address).open("?accelerator=h200-sxm&who=you#decode-floor")
    reader.page.locator(".hardware-stop").click()
    expect(reader.page.locator(".hardware-status")).to_have_text(
        "Python is stopped. The page shows the published values."
    )
    assert reader.page.url.endswith("?who=you#decode-floor")
    reader.page.close()


def test_why_inputs_are_refused_stays_said_and_markup_is_text(reader):
    markup = "<img src=x onerror=alert(1)>"
    reader.take(f"?{urlencode({'workload.nonsense': markup, 'model': markup, 'workload.turns': '1e999', 'x': markup})}")
    reader.page.wait_for_timeout(1000)  # what concludes comes late
    said = reader.page.locator(".hardware-status")
    expect(said).to_contain_text("workload.nonsense: Unknown key 'nonsense'")
    expect(said).to_contain_text(". The page shows the published values.")  # a sentence of its own
    expect(reader.problem("model")).to_contain_text(markup)
    expect(reader.problem("workload.turns")).to_contain_text("too large")
    assert not reader.page.locator("img[src=x]").count()
    reader.take("?accelerator=h200-sxm")
    reader.page.wait_for_timeout(1000)
    expect(reader.page.locator(".hardware-status")).not_to_contain_text("not computed")


def test_a_title_of_one_long_word_does_not_widen_the_page(reader):
    reader.take(f"?{urlencode({'model.title': 'W' * 3000, 'accelerator.title': '5 % & amp; *a*'})}")
    assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# ---------------------------------------------------------------- dials


@pytest.mark.parametrize(
    ("typed", "stands", "next_above"), [("64 ktoken", 64000, 65000), ("65,536 token", 65536, 66000)]
)
def test_a_dial_goes_on_from_what_was_typed_in_any_unit(reader, typed, stands, next_above):
    reader.take(f"?{urlencode({'workload.context': typed})}")
    dial = reader.page.get_by_role("spinbutton", name="Context").first
    assert float(dial.get_attribute("aria-valuenow")) == stands
    dial.focus()
    reader.page.keyboard.press("ArrowUp")
    reader.settled()
    assert f"workload.context={next_above}+token" in reader.page.url


def test_a_dial_of_a_chosen_part_reaches_the_published_value(contexts, address):
    reader = Reader(contexts(), address, "decode-loop").open("?node=gb200-nvl72").settled()
    dial = reader.page.locator("a.live-dial:has([data-dial='node.accelerators'])").first
    assert dial.get_attribute("aria-valuenow") == "72"
    assert reader.page.locator("[name='node.accelerators']").get_attribute("placeholder").startswith("72 ")
    dial.focus()
    for _ in range(4):  # 64, 32, 16, 8
        reader.page.keyboard.press("ArrowDown")
    reader.settled()
    expect(dial).to_have_text("8\u00a0accelerators")
    assert "node.accelerators=8+accelerator" in reader.page.url
    reader.page.locator(".hardware-back").click()
    assert reader.page.locator("[name='node.accelerators']").get_attribute("placeholder").startswith("8 ")
    reader.page.close()


STEPPED = """async ([by, number, steps, limits]) =>
  (await import(new URL("../_static/live-dials.js", location)))[by](number, steps, limits)"""


@pytest.mark.parametrize("by", ["nudged", "stepped"])
@pytest.mark.parametrize("field", [field for field in FIELDS if field.step], ids=lambda field: field.key)
def test_a_step_of_a_dial_is_a_value_and_a_step_back_leads_back(reader, field, by):
    if by == "nudged" and not field.least:
        return
    low, high = field.limits
    limits = {"step": field.step, "least": field.least, "low": low, "high": high}
    published = float(field.published.split()[0])
    up = reader.page.evaluate(STEPPED, [by, published, 1, limits])
    assert up > published
    assert inputs.problems({field.key: f"{up:.15g} {field.unit}"}) == {} or "precision" in field.key
    further = reader.page.evaluate(STEPPED, [by, up, 1, limits])
    assert reader.page.evaluate(STEPPED, [by, further, -1, limits]) == up


@pytest.mark.parametrize(
    ("number", "steps", "least", "wanted"),
    [
        (32768, 1, 1, 33000),
        (32768, -1, 1, 32000),
        (98, 3, 1, 110),  # 99, 100
        (10, -1, 0.01, 9.9),
        (10, -1, 1, 9),
        (0.02, -3, 0.01, 0),
        (0, 1, 0.01, 0.01),
        (0, 1, 1, 1),
        (9.9, 2, 0.01, 11),
        (4, 1, 0.01, 4.1),
        (999, 1, 1, 1000),
        (300, 70, 1, 1000),
        (99_000, 5, 1, 100_000),
    ],
)
def test_a_small_step_is_of_the_second_digit_and_ends_at_the_limits(reader, number, steps, least, wanted):
    assert reader.page.evaluate(STEPPED, ["nudged", number, steps, {"least": least, "low": 0, "high": 1e5}]) == wanted


def test_a_dial_is_turned_from_the_keyboard(reader):
    dial = reader.page.get_by_role("spinbutton", name="Context").first
    dial.focus()
    assert [dial.get_attribute(f"aria-value{part}") for part in ("now", "text")] == ["32768", "32,768\u00a0tokens"]
    reader.page.keyboard.press("Shift+ArrowRight")
    reader.settled()
    expect(reader.value("workload-context")).to_have_text("65,536\u00a0tokens")
    assert dial.get_attribute("aria-valuetext") == "65,536\u00a0tokens"
    assert "workload.context=65536+token" in reader.page.url
    assert reader.page.evaluate("document.activeElement.getAttribute('role')") == "spinbutton"
    pressed = {"PageUp": 131072, "ArrowUp": 140000, "ArrowLeft": 130000, "Shift+ArrowDown": 65536, "End": 1e8}
    for key, wanted in (pressed | {"ArrowDown": 9.9e7, "PageDown": 2**26, "Home": 1, "ArrowDown ": 1}).items():
        reader.page.keyboard.press(key.strip())
        assert float(dial.get_attribute("aria-valuenow")) == wanted, key
    reader.settled()


def test_a_dial_is_dragged_and_a_click_leads_to_the_cell(reader):
    dial = reader.page.get_by_role("spinbutton", name="Context").first
    dial.scroll_into_view_if_needed()
    box = dial.bounding_box()
    reader.page.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
    reader.page.mouse.down()
    reader.page.mouse.move(box["x"] + 10 + 33, box["y"] + box["height"] / 2, steps=5)
    assert dial.get_attribute("aria-valuenow") == "40000"  # 33000, and seven more
    reader.page.keyboard.down("Shift")
    reader.page.mouse.move(box["x"] + 10 + 32, box["y"] + box["height"] / 2)
    reader.page.mouse.up()
    reader.page.keyboard.up("Shift")
    reader.settled()
    assert "workload.context=131072+token" in reader.page.url and "#" not in reader.page.url
    dial.click()
    reader.page.wait_for_url("**#workload-context")
    assert "workload.context=131072+token" in reader.page.url


# ---------------------------------------------------------------- cells


def edit(reader, key, source):
    cell = reader.page.locator(f"div.cell:has([id='{key}'])")
    cell.get_by_role("button", name="Edit code cell").focus()
    reader.page.keyboard.press("Enter")
    cell.locator("textarea").fill(source)
    reader.page.keyboard.press("Control+Enter")
    reader.settled()
    return cell


def test_a_cell_is_edited_and_run_with_the_pages_state_and_restored(reader):
    before = reader.article()
    cell = edit(
        reader, "ridge-point", 'state("ridge-point", 2 * roofline.ridge_point(peak_rate, bandwidth), "operation/byte")'
    )
    expect(cell.locator(".stated strong")).to_have_text("1,180 op/B")
    expect(cell.locator("pre").first).to_contain_text("2 * roofline")
    cell.get_by_role("button", name="Restore").click()
    reader.settled()
    expect(cell.locator(".stated strong")).to_have_text("591 op/B")
    assert reader.article() == before


def test_a_restored_cell_shows_what_was_published_or_the_readers_inputs_give(reader):
    reader.choose(accelerator="h200-sxm")
    before = reader.settled().drawn().article()
    cell = reader.page.locator("div.cell.cell-1")
    for name, text in (("Edit", None), ("Run", "print('mine')"), ("Restore", None)):
        if text:
            cell.locator("textarea").fill(text)
        cell.get_by_role("button", name=f"{name} code cell").evaluate("(button) => button.click()")
        if name != "Edit":
            reader.settled()
        if name == "Run":
            expect(cell.locator(".cell_output")).to_have_text("mine")
    expect(cell.locator(".cell_output .stated")).to_be_visible()
    assert reader.article() == before


def test_an_error_of_the_readers_code_stands_below_the_cell(reader):
    cell = edit(reader, "ridge-point", "1 / 0")
    expect(cell.locator(".live-failed")).to_contain_text("ZeroDivisionError")
    cell.get_by_role("button", name="Restore").click()
    expect(cell.locator(".live-failed")).to_have_count(0)
    reader.settled()


def put_into(reader, number, source):
    cell = reader.page.locator(f"div.cell.cell-{number}")
    cell.locator(".live-cell-bar button").first.evaluate("(button) => button.click()")
    cell.locator("textarea").evaluate("(area, text) => { area.value = text }", source)
    cell.locator(".live-cell-bar button").nth(1).evaluate("(button) => button.click()")
    return cell


def number_of(reader, key):
    return reader.page.locator(f"div.cell:has([id='{key}'])").evaluate(
        "(cell) => /cell-(\\d+)/.exec(cell.className)[1]"
    )


def test_where_edited_code_fails_its_outputs_are_the_published_and_say_so(reader):
    published = reader.page.locator("#tab-precisions").inner_text()
    reader.take("?accelerator=h200-sxm")
    assert reader.page.locator("#tab-precisions").inner_text() != published
    cell = put_into(reader, number_of(reader, "tab-precisions"), "1 / 0")
    reader.settled()
    expect(cell.locator(".live-failed")).to_contain_text("ZeroDivisionError")
    expect(cell.locator(".live-note")).to_contain_text("This still shows the published run. Your code fails.")
    assert reader.page.locator("#tab-precisions").inner_text() == published
    assert not reader.page.locator("#tab-precisions .live-changed").count()


def test_a_value_that_edited_code_does_not_state_is_marked_where_it_is_quoted(reader):
    reader.take("?accelerator=h200-sxm")
    put_into(reader, number_of(reader, "output-input-ratio"), "pass")
    reader.settled()
    value = reader.value("output-input-ratio")
    expect(value).to_have_text("295")
    expect(value).to_have_class("live-stays")
    reader.take("?accelerator=h200-sxm&workload.batch=16")  # also after what does not concern it
    expect(value).to_have_class("live-stays")
    value.hover()
    expect(reader.page.locator("#live-tip")).to_contain_text("The edited code does not state it")


def test_all_edited_cells_run_again_after_a_stop(contexts, address):
    reader = Reader(contexts(), address).open()
    put_into(
        reader, number_of(reader, "ridge-point"), 'state("ridge-point", 5 * peak_rate / bandwidth, "operation/byte")'
    )
    reader.settled()
    mine = reader.page.locator("#ridge-point strong").text_content()
    reader.page.locator(".hardware-stop").click()
    put_into(reader, number_of(reader, "decode-floor"), "pass")
    reader.settled()
    assert mine != "591 op/B"
    expect(reader.page.locator("#ridge-point strong")).to_have_text(mine)
    reader.page.close()


def test_code_that_never_ends_is_told_of_and_stopped(contexts, address):
    reader = Reader(contexts(), address).open("?accelerator=h200-sxm").settled()
    status, elapsed = reader.page.locator(".hardware-status"), reader.page.locator(".hardware-elapsed")
    put_into(reader, number_of(reader, "ridge-point"), "while True: pass")
    expect(status).to_have_text("Running the page's cells")
    expect(elapsed).to_have_text(re.compile(r"\d+ s"))
    reader.page.locator(".hardware-back").click()
    expect(elapsed).to_have_text("")
    expect(status).to_have_text("The page shows the published values.")
    reader.page.wait_for_timeout(1500)
    assert not reader.page.locator("progress").is_visible()
    reader.choose(accelerator="l4")
    expect(elapsed).to_have_text(re.compile(r"\d+ s"))
    reader.page.locator(".hardware-stop").click()
    expect(status).to_have_text("Python is stopped. The page shows the published values.")
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    expect(reader.value("output-input-ratio")).to_have_text("206")
    reader.page.close()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise SystemExit(1)", "SystemExit: 1"),
        ("def f():\n    return f() + 1\nf()", "RecursionError"),
    ],
)
def test_code_that_would_end_python_fails_in_its_cell_alone(reader, source, said):
    reader.take("?accelerator=h200-sxm")
    cell = put_into(reader, number_of(reader, "ridge-point"), source)
    reader.settled()
    expect(cell.locator(".live-failed")).to_contain_text(said)
    expect(cell.locator("pre").first).to_contain_text(source.partition("\n")[0])
    reader.take("?accelerator=l4")
    expect(reader.value("output-input-ratio")).to_have_text("403")
    assert reader.page.evaluate("workers") == 1


def test_where_code_ends_python_the_page_says_so_and_keeps_the_code(contexts, address):
    reader = Reader(contexts(), address).open("?accelerator=h200-sxm").settled()
    cell = put_into(reader, number_of(reader, "ridge-point"), "import os\nos.abort()")
    expect(cell.locator(".live-failed")).to_contain_text("Python stopped working")
    expect(cell.locator("pre").first).to_contain_text("os.abort()")
    expect(reader.page.locator(".hardware-status")).to_contain_text("The page shows the published values")
    expect(reader.value("output-input-ratio")).to_have_text("295")
    cell.get_by_role("button", name="Restore").evaluate("(button) => button.click()")
    reader.choose(accelerator="l4")
    reader.settled()
    expect(reader.value("output-input-ratio")).to_have_text("403")
    reader.page.close()


FETCHES = """
from js import XMLHttpRequest
request = XMLHttpRequest.new()
request.open("GET", "http://elsewhere.example/", False)
request.send()
"""


def test_code_of_a_reader_reaches_no_other_host(contexts, address):
    context, reached = contexts(), []
    context.route(
        "http://elsewhere.example/**",
        lambda route: reached.append(1) or route.fulfill(headers={"access-control-allow-origin": "*"}, body="there"),
    )
    reader = Reader(context, address).open("?accelerator=h200-sxm").settled()
    cell = put_into(reader, number_of(reader, "ridge-point"), FETCHES)
    expect(cell.locator(".live-failed")).to_contain_text("NetworkError")
    assert not reached
    reader.page.close()


def test_escape_leaves_a_cell_as_it_was(reader):
    before = reader.article()
    cell = reader.page.locator("div.cell:has(#ridge-point)")
    cell.get_by_role("button", name="Edit code cell").click(force=True)
    cell.locator("textarea").fill("nonsense")
    reader.page.keyboard.press("Escape")
    assert reader.article() == before
    assert reader.page.evaluate("document.activeElement.textContent") == "Edit"


def test_cells_that_take_long_wait_until_they_are_asked_for(contexts, address):
    reader = Reader(contexts(), address, "trajectory-queues").open("?accelerator=h200-sxm").settled()
    note = reader.page.locator(".cell.tag_long .live-note").first
    expect(note).to_contain_text("This still shows the published run. It takes long")
    note.get_by_role("button", name="Run").evaluate("(button) => button.click()")
    reader.until("heard.some(({ kind, group }) => kind === 'numbers') && asked > 1")
    expect(reader.page.locator(".hardware-elapsed")).to_have_text(re.compile(r"\d+ s"))
    reader.page.locator(".hardware-stop").click()
    expect(reader.page.locator(".hardware-status")).to_contain_text("Python is stopped.")
    reader.page.close()


# ---------------------------------------------------------------- stopping, and what cannot be had


def test_stopping_ends_python_and_the_next_use_starts_it_again(contexts, address):
    reader = Reader(contexts(), address).open()
    before = reader.article()
    reader.choose(accelerator="h200-sxm")
    reader.page.locator(".hardware-stop").click()
    expect(reader.page.locator(".hardware-status")).to_contain_text("The page shows the published values")
    assert reader.article() == before and "?" not in reader.page.url
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    expect(reader.value("output-input-ratio")).to_have_text("206")
    reader.page.locator(".hardware-stop").click()
    expect(reader.value("output-input-ratio")).to_have_text("206")
    expect(reader.page.locator(".hardware-status")).to_contain_text("differ")
    assert not reader.page.locator(".live-waits").count()
    reader.choose(accelerator="l4")
    reader.settled()
    assert reader.page.evaluate("workers") == 3 and "l4" in reader.page.url
    reader.page.close()


@pytest.mark.parametrize("button", [".hardware-back", ".hardware-stop"])
def test_the_focus_of_a_button_that_goes_is_not_lost(contexts, address, button):
    reader = Reader(contexts(), address).open("?accelerator=h200-sxm").settled()
    reader.page.locator(button).focus()
    reader.page.keyboard.press("Enter")
    expect(reader.page.locator(button)).to_be_hidden()
    assert reader.page.evaluate("document.activeElement.matches('#hardware > summary')")
    reader.page.close()


def test_a_reset_while_python_loads_leaves_no_word_of_loading(contexts, address):
    reader = Reader(contexts(), address).open()
    reader.choose(accelerator="h200-sxm")
    expect(reader.page.locator(".hardware-status")).to_contain_text("Loading Python")
    reader.page.locator("form.hardware-form [type=reset]").evaluate("(button) => button.click()")
    reader.until("heard.some(({ kind }) => kind === 'installed')")  # the figures' packages, which come last
    reader.settled()
    expect(reader.page.locator(".hardware-status")).to_have_text("The page shows the published values.")
    assert not reader.page.locator("progress").is_visible()
    reader.page.close()


def test_after_the_start_the_page_works_offline(contexts, address):
    context = contexts()
    reader = Reader(context, address).open("?accelerator=h200-sxm").settled().drawn()
    context.set_offline(True)
    reader.choose(accelerator="l40s")
    reader.settled()
    expect(reader.page.locator("#hardware > summary")).to_contain_text("L40S")
    assert reader.page.locator("data.live-changed").count()
    reader.page.close()


@pytest.mark.parametrize(
    "file", ["live-worker.js", "live-session.js", "live/pyodide.asm.wasm", "live/pint-*", "live/book.json"]
)
def test_where_a_file_cannot_be_loaded_the_page_stays_published_and_says_so(context, address, file):
    context.route(f"**/_static/{file}", lambda route: route.abort())
    reader = Reader(context, address).open()
    before = reader.article()
    reader.choose(accelerator="h200-sxm")
    expect(reader.page.locator(".hardware-status")).to_contain_text("The page shows the published values")
    assert reader.article() == before


@pytest.mark.parametrize("file", ["manifest.json", "book.json", "pint-*", "pyodide.asm.wasm", "python_stdlib.zip"])
def test_where_a_file_is_half_there_the_page_stays_published_and_says_so(context, address, file):
    def half(route):
        answer = route.fetch()
        route.fulfill(headers=answer.headers, body=answer.body()[: len(answer.body()) // 2])

    context.route(f"**/_static/live/{file}", half)
    reader = Reader(context, address).open()
    before = reader.article()
    reader.choose(accelerator="h200-sxm")
    expect(reader.page.locator(".hardware-status")).to_contain_text("The page shows the published values")
    assert reader.article() == before


def test_a_server_that_does_not_know_webassembly_will_do(context, address):
    def plain(route):
        route.fulfill(content_type="text/plain", body=route.fetch().body())

    context.route("**/_static/live/*.wasm", plain)
    reader = Reader(context, address).open("?accelerator=h200-sxm")
    expect(reader.value("output-input-ratio")).to_have_text("206")


def test_without_the_figures_files_numbers_are_computed_and_figures_say_that_they_are_published(context, address):
    context.route("**/_static/live/matplotlib-*", lambda route: route.abort())
    reader = Reader(context, address).open("?accelerator=h200-sxm")
    figure = reader.page.locator("#fig-roofline")
    expect(figure.locator(".live-note")).to_contain_text("This figure still shows the published run")
    expect(reader.value("output-input-ratio")).to_have_text("206")
    assert not figure.locator("img.only-light").get_attribute("src").startswith("data:")


def test_no_request_leaves_the_site_and_nothing_is_complained_of(started, ledger, address):
    for reader in (started, ledger):
        page = reader.page
        assert [url for url in page.asked if not url.startswith((address, "data:", "blob:"))] == []
        theirs = ("findfont", "reading 'closest'")  # Matplotlib without some fonts; the theme, as it marks headings
        assert [line for line in page.complaints if not any(words in line for words in theirs)] == []
        live = [url for url in page.asked if "/_static/live/" in url]
        assert len(live) == len(set(live))  # each file once


# ---------------------------------------------------------------- accessibility


DECORATED = "(element) => getComputedStyle(element).textDecorationStyle"


@pytest.mark.parametrize("media", [{"media": "print"}, {"forced_colors": "active"}], ids=str)
def test_what_is_changed_is_seen_without_colours(reader, media):
    page = reader.page
    reader.take("?accelerator=h200-sxm")
    page.emulate_media(**media)
    for place in ("#tab-precisions td.live-changed", "p data.live-changed", ".stated strong.live-changed"):
        assert page.locator(place).first.evaluate(DECORATED) == "double", place
    controls = ".hardware-form, .hardware-bar, .live-compare, .live-cell-bar, .live-note button"
    shown = page.evaluate(f"[...document.querySelectorAll('{controls}')].some((each) => each.checkVisibility())")
    assert shown == ("media" not in media)
    assert page.locator("#hardware > summary").is_visible()
    page.emulate_media(media="screen", forced_colors="none")


@pytest.mark.parametrize("width, text", [(320, "100%"), (640, "200%"), (1280, "200%")])
def test_the_control_fits_a_narrow_window_and_large_text(reader, width, text):
    page = reader.page
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("(size) => { document.documentElement.style.fontSize = size }", text)
    reader.choose(model="llama-3.1-405b", accelerator="l4")
    reader.type("workload.prompt", "40000 tokens")
    reader.settled()
    reader.type("precision.weights", "1 GB")
    reader.settled()
    assert reader.notice("workload.prompt").is_visible()  # where a group has its own columns
    wide = """[...document.querySelectorAll(".hardware-form *")].filter((each) =>
      each.getBoundingClientRect().right > document.querySelector("#hardware").getBoundingClientRect().right)"""
    found = page.evaluate(f"{wide}.map((each) => each.outerHTML)")
    over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    page.evaluate("document.documentElement.style.fontSize = ''")
    page.set_viewport_size({"width": 1400, "height": 900})
    assert (found, over) == ([], 0)


def test_with_reduced_motion_nothing_fades(reader):
    reader.take("?accelerator=h200-sxm")
    page, fading = reader.page, "getComputedStyle(document.querySelector('#fig-roofline img')).transitionDuration"
    page.locator("#fig-roofline").evaluate("(figure) => figure.classList.add('live-waits')")
    assert page.evaluate(fading) == "0.3s"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(fading) == "0s"
    page.emulate_media(reduced_motion="no-preference")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_an_open_control_and_a_changed_page_are_accessible(reader, theme, width):
    from axe_playwright_python.sync_playwright import Axe

    page = reader.page
    reader.choose(accelerator="h200-sxm")
    reader.settled()
    reader.type("workload.context", "1 GB")
    reader.settled()
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(1000)  # the theme finds out what scrolls now
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(color_scheme=None)
    page.set_viewport_size({"width": 1400, "height": 900})
    reader.type("workload.context", "")
    reader.settled()
    assert found.response["violations"] == [], found.generate_report()
