// The page as it was published, and what stands in its place for a reader's inputs.
//
// Of each element that changes, the published nodes themselves are kept: a reset puts them
// back, with all that other scripts did to them.

const kept = new Map(); // element -> its nodes and attributes as published
const article = document.querySelector("article") ?? document.body;
const quotes = [...article.querySelectorAll("data[data-key]")];

// ---------------------------------------------------------------- keeping and restoring

function keep(element) {
  if (kept.has(element)) return;
  const attributes = new Map([...element.attributes].map(({ name, value }) => [name, value]));
  kept.set(element, { nodes: [...element.childNodes], attributes });
}

function restore(element) {
  const was = kept.get(element);
  if (!was) return;
  kept.delete(element);
  const now = element.childNodes;
  if (now.length !== was.nodes.length || was.nodes.some((node, i) => node !== now[i])) {
    element.replaceChildren(...was.nodes);
  }
  for (const name of element.getAttributeNames()) {
    if (!was.attributes.has(name)) element.removeAttribute(name);
  }
  for (const [name, value] of was.attributes) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
}

/** The published page, to the last node. */
export function reset() {
  article.querySelectorAll(".live-added").forEach((each) => each.remove());
  for (const element of [...kept.keys()].reverse()) restore(element);
}

/** Set an attribute until the next reset. */
export function attribute(element, name, value) {
  keep(element);
  element.setAttribute(name, value);
}

/** An element that the next reset takes away. */
export function addition(name, className, text = "") {
  const element = document.createElement(name);
  element.className = `${className} live-added`;
  element.textContent = text;
  return element;
}

// ---------------------------------------------------------------- comparing

/** Text without what is only typography: the build curls the quotes of some texts. */
const plain = (text) => text.replace(/\s+/g, " ").replace(/[‘’]/g, "'").replace(/[“”]/g, '"').trim();

/** What an element says, to compare two versions of it. A formula says its source, whether it is set yet or not. */
function wording(node) {
  if (!node.querySelector?.(".math, .live-added")) return plain(node.textContent);
  const copy = node.cloneNode(true);
  const formulas = [...node.querySelectorAll(".math")];
  copy.querySelectorAll(".math").forEach((formula, i) => (formula.textContent = source(formulas[i])));
  copy.querySelectorAll(".live-added").forEach((each) => each.remove());
  return plain(copy.textContent);
}

function source(formula) {
  const items = window.MathJax?.startup?.document?.getMathItemsWithin?.(formula) ?? [];
  const sources = [...items].map((item) => item.math);
  return sources.join() || formula.textContent.replace(/^\s*\\[([]|\\[)\]]\s*$/g, "");
}

/** What an element said when it was published. */
export function published(element) {
  const nodes = kept.get(element)?.nodes ?? [...element.childNodes];
  return nodes.map((node) => node.textContent).join("").replace(/\s+/g, " ").trim();
}

// ---------------------------------------------------------------- replacing

function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** References to equations, figures and sources come without their numbers: the published links have them. */
function linked(fresh, element) {
  const wanted = [...fresh.querySelectorAll("[data-target]")];
  const known = [...element.querySelectorAll("a:not(.val, .verdict, .headerlink)")];
  if (wanted.length === known.length) wanted.forEach((place, i) => place.replaceWith(known[i].cloneNode(true)));
  return fresh;
}

/** Put new content into an element, and mark it where it reads otherwise; what reads the same stays as published. */
function put(element, content) {
  const focused = element.contains(document.activeElement);
  restore(element);
  const fresh = typeof content === "string" ? linked(parsed(content), element) : content;
  if (wording(fresh) === wording(element)) return false;
  keep(element);
  element.replaceChildren(fresh);
  element.classList.add("live-changed");
  if (element.querySelector(".math")) window.MathJax?.typesetPromise?.([element]);
  if (focused && !element.contains(document.activeElement)) {
    element.tabIndex = -1; // what had the focus is gone; its place takes it
    element.focus({ preventScroll: true });
  }
  return true;
}

function putText(element, text) {
  return put(element, document.createTextNode(text));
}

function showQuote(data, text, record) {
  const number = data.closest("a.val");
  if (putText(data, number ? text.replace(" ", "\u00a0") : text)) data.setAttribute("value", record.value);
}

function showBox(box, record) {
  const value = box.querySelector("strong");
  const stated = box.querySelector(".source");
  box.querySelector(".live-was")?.remove();
  const changed = putText(value, record.printed);
  if (changed) value.after(addition("span", "live-was", `, published: ${published(value)}`));
  if (!stated) return;
  restore(stated);
  if (!changed) return;
  keep(stated); // its tick speaks of the published value
  stated.textContent = `for the published inputs, ${stated.textContent.replace(/^\s*[✓✗]?\s*/, "")}`;
}

function restoreWhole(element) {
  restore(element);
  [...element.children].forEach(restoreWhole);
}

/** A table as Python has it; null is the published one. */
function showTable(table, content) {
  if (!content) return restoreWhole(table);
  const { caption, head, rows } = content;
  const body = table.tBodies[0];
  restore(body);
  put(table.querySelector(".caption-text"), caption);
  showHead(table.tHead.rows[0], head);
  const lines = [...body.rows];
  if (lines.length === rows.length && lines.every((line, i) => line.cells.length === rows[i].length)) {
    lines.forEach((line, i) => [...line.cells].forEach((cell, j) => put(cell, rows[i][j])));
    return;
  }
  keep(body);
  const row = (cells, i) => {
    const made = cells.map((cell) => `<td class="live-changed">${cell}</td>`).join("");
    return `<tr class="row-${i % 2 ? "odd" : "even"}">${made}</tr>`;
  };
  body.innerHTML = rows.map(row).join("");
}

/** The names of the columns: of a comparison there are more with the reader's own. */
function showHead(line, head) {
  restore(line);
  if (line.cells.length === head.length) {
    [...line.cells].forEach((cell, i) => put(cell, head[i]));
    return;
  }
  keep(line);
  line.innerHTML = head.map((cell) => `<th class="head live-changed">${cell}</th>`).join("");
}

const OWN_PLACES = ".stated, figure, :has(table[id])";

/** What a cell printed; null is what was published. Values, tables and figures among it have places of their own. */
function showOutput(number, html) {
  const cell = cellOf(number);
  const place = cell.querySelector(".cell_output") ?? cell.appendChild(addition("div", "cell_output"));
  restore(place);
  if (html === null) {
    [...place.children].filter((each) => !each.matches(OWN_PLACES)).forEach(restoreWhole);
    if (place.matches(".live-added")) place.remove();
    return;
  }
  const fresh = [...parsed(html).children];
  const now = [...place.children].filter((each) => !each.matches(".live-added"));
  const names = (outputs) => outputs.map((each) => (each.id || each.querySelector("table[id]")?.id) ?? "").join("|");
  if (names(fresh) !== names(now)) {
    keep(place); // an edited cell shows something else
    place.replaceChildren(...fresh);
    place.classList.add("live-changed");
    return;
  }
  now.forEach((output, i) => {
    if (!output.matches(OWN_PLACES)) put(output, fresh[i].innerHTML);
  });
}

const cellOf = (number) => article.querySelector(`div.cell.cell-${number}`);

// ---------------------------------------------------------------- what the kernel says

/** Numbers, tables and outputs, in one go. */
export function showNumbers({ values, quotes: texts, tables, outputs, values_stay: stay = {} }) {
  for (const [number, html] of Object.entries(outputs)) showOutput(number, html);
  for (const data of quotes) {
    const { key, form } = data.dataset;
    const text = texts[form ? `${key}:${form}` : key];
    if (text !== undefined) showQuote(data, text, values[key]);
    showStays(data, stay[key] ?? (text === undefined && values[key] ? "It could not be printed anew" : ""));
  }
  for (const box of article.querySelectorAll(".stated[id]")) {
    if (values[box.id]) showBox(box, values[box.id]);
  }
  for (const [key, content] of Object.entries(tables)) {
    const table = document.getElementById(key);
    if (table) showTable(table, content);
  }
  article.querySelectorAll("table.ledger").forEach(showLedger);
  offerComparison();
}

/** The ledger's verdicts are of the published values; beside a changed one stands the published instead. */
function showLedger(table) {
  const changed = [...table.tBodies[0].rows].filter((row) => {
    const data = row.querySelector("data");
    const verdict = data.closest("td").nextElementSibling;
    if (data.matches(".live-changed")) return putText(verdict, `published: ${published(data)}`);
    restore(verdict);
    return false;
  });
  const caption = table.querySelector(".caption-text");
  restore(caption);
  if (changed.length) putText(caption, `${caption.textContent}, of the published values`);
}

/** A value that could not be computed anew says so. */
function showStays(data, why) {
  if (why) {
    restore(data);
    keep(data);
    data.classList.add("live-stays");
    data.dataset.why = why;
  } else if (data.dataset.why) {
    restore(data);
  }
}

/** A figure in both themes. It counts as changed where its words are others: drawings never agree to the last byte. */
export function showFigure({ key, light, dark, caption, alt, published: back }) {
  const figure = document.getElementById(key);
  if (!figure) return;
  const images = { light: figure.querySelector("img.only-light"), dark: figure.querySelector("img.only-dark") };
  const words = figure.querySelector(".caption-text") ?? figure.querySelector("figcaption");
  const hidden = figure.matches(".live-hidden");
  [figure, words, ...Object.values(images)].forEach(restore);
  if (back) return offerComparison();
  const changed = put(words, caption) || plain(alt) !== plain(images.light.alt);
  for (const [theme, drawing] of Object.entries({ light, dark })) {
    attribute(images[theme], "src", `data:image/svg+xml,${encodeURIComponent(drawing)}`);
    attribute(images[theme], "alt", alt);
  }
  keep(figure);
  figure.classList.toggle("live-changed", changed);
  figure.classList.toggle("live-hidden", hidden);
  offerComparison();
}

/** Figures that are being drawn anew are, until then, not what the numbers say. */
export function wait(keys) {
  for (const key of keys) {
    const figure = document.getElementById(key);
    if (!figure) continue;
    keep(figure);
    figure.classList.add("live-waits");
    figure.setAttribute("aria-busy", "true");
  }
}

/** Figures that waited in vain are the published ones, and say so. */
export function settle(why) {
  for (const figure of article.querySelectorAll("figure.live-waits")) {
    showFigure({ key: figure.id, published: true });
    figure.prepend(addition("p", "live-note", `This figure still shows the published run. ${why}.`));
  }
}

/** No figure waits any longer: what was not drawn anew is as it was. */
export function drawn() {
  for (const figure of article.querySelectorAll("figure.live-waits")) {
    figure.classList.remove("live-waits");
    figure.removeAttribute("aria-busy");
  }
}

/** Say above the outputs of a cell why they stay; `run`, where it can be had, is what a button does. */
export function stay(number, text, run) {
  const output = cellOf(number)?.querySelector(".cell_output");
  if (!output) return;
  output.querySelectorAll("figure.live-waits").forEach(({ id }) => showFigure({ key: id, published: true }));
  output.querySelector(":scope > .live-note")?.remove();
  const made = addition("p", "live-note", text);
  if (run) {
    const button = made.appendChild(document.createElement("button"));
    button.type = "button";
    button.textContent = "Run";
    button.addEventListener("click", run);
  }
  output.prepend(made);
}

export function clearNotes() {
  article.querySelectorAll(".live-note").forEach((each) => each.remove());
}

// ---------------------------------------------------------------- comparing by eye

const copies = new Map(
  [...article.querySelectorAll(".pst-scrollable-table-container:has(> table[id]), figure.costlib[id]")].map((each) => [
    each,
    withoutNames(each.cloneNode(true)),
  ]),
);

/** A copy of what was published, which no link leads to. */
function withoutNames(copy) {
  for (const each of [copy, ...copy.querySelectorAll("[id]")]) each.removeAttribute("id");
  copy.classList.add("live-added", "live-published");
  return copy;
}

/** Have a button below each changed table and figure that shows the published one in its place. */
function offerComparison() {
  for (const [element, copy] of copies) {
    const changed = element.matches(".live-changed, :has(.live-changed)");
    const button = element.parentElement.querySelector(`:scope > .live-compare[data-of="${nameOf(element)}"]`);
    if (changed && !button) element.after(comparing(element, copy));
    if (changed || !button) continue;
    button.remove();
    copy.remove();
    element.classList.remove("live-hidden");
  }
}

const nameOf = (element) => element.id || element.querySelector("table").id;

function comparing(element, copy) {
  const button = addition("button", "live-compare", "Show published");
  button.type = "button";
  button.dataset.of = nameOf(element);
  button.addEventListener("click", () => {
    const back = copy.isConnected;
    if (back) copy.remove();
    else element.before(copy);
    keep(element);
    element.classList.toggle("live-hidden", !back);
    button.textContent = back ? "Show published" : "Show yours";
  });
  return button;
}

export function figuresInView() {
  const inView = ({ top, bottom }) => bottom > 0 && top < innerHeight;
  const figures = [...article.querySelectorAll("figure.costlib[id]")];
  return figures.filter((each) => inView(each.getBoundingClientRect())).map((each) => each.id);
}

/** How many values, tables and figures read otherwise than published. */
export function differences() {
  const keys = [...article.querySelectorAll("data.live-changed, .stated strong.live-changed")].map(
    (each) => each.dataset.key ?? each.closest(".stated").id,
  );
  const having = (kind) => article.querySelectorAll(`${kind}:is(.live-changed, :has(.live-changed))`).length;
  return { value: new Set(keys).size, table: having("table[id]"), figure: having("figure.costlib") };
}
