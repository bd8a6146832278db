// Code cells, edited in place and run with the page's state.
//
// The code that stands in a cell is always that whose outputs stand below it: what is
// being written replaces it when it runs, and leaving without a run gives it up.

/**
 * @param {object} on What to call: `run(number, source)` and `restore(number)`.
 */
export function cellsOf(on) {
  const made = new Map();
  for (const element of document.querySelectorAll("div.cell")) {
    const number = /\bcell-(\d+)\b/.exec(element.className)?.[1];
    const code = element.querySelector(".cell_input .highlight");
    if (number && code) made.set(Number(number), cell(Number(number), element, code, on));
  }
  return {
    /** Sources of the cells that the reader has edited, by number. */
    edited: () => new Map([...made].filter(([, each]) => each.own()).map(([number, each]) => [number, each.source()])),
    /** Show an error below a cell that the reader has edited; says whether it is one. */
    failed(number, text) {
      const each = made.get(number);
      if (!each?.own()) return false;
      each.fail(text);
      return true;
    },
    reset: () => made.forEach((each) => each.reset()),
  };
}

function cell(number, element, code, on) {
  const pre = code.querySelector("pre");
  const published = { nodes: [...pre.childNodes], text: trimmed(pre.textContent) };
  const bar = document.createElement("div");
  bar.className = "live-cell-bar";
  const [edit, run, restore] = ["Edit", "Run", "Restore"].map((text) => button(text, number));
  run.hidden = restore.hidden = true;
  bar.append(edit, run, restore);
  code.append(bar);
  let source = published.text;
  let writing = null;

  edit.addEventListener("click", () => (writing ? leave() : write()));
  run.addEventListener("click", start);
  restore.addEventListener("click", () => {
    reset();
    edit.focus();
    on.restore(number);
  });

  function write() {
    writing = editor(source, number, getComputedStyle(pre));
    writing.addEventListener("keydown", (event) => {
      if (event.key === "Escape") leave();
      else if (event.key === "Enter" && (event.ctrlKey || event.shiftKey || event.metaKey)) {
        event.preventDefault();
        start();
      }
    });
    pre.hidden = true;
    pre.after(writing);
    name(edit, "Cancel", number);
    run.hidden = false;
    writing.focus();
  }

  function leave() {
    writing?.remove();
    writing = null;
    pre.hidden = false;
    name(edit, "Edit", number);
    run.hidden = true;
    edit.focus({ preventScroll: true });
  }

  function start() {
    const written = writing.value;
    leave();
    if (written === published.text) reset();
    else show(written);
    if (own()) on.run(number, source);
    else on.restore(number);
  }

  function show(text) {
    source = text;
    pre.textContent = `${text}\n`;
    code.classList.add("live-edited");
    restore.hidden = false;
  }

  function own() {
    return source !== published.text;
  }

  function reset() {
    if (writing) leave();
    fail("");
    if (!own()) return;
    source = published.text;
    pre.replaceChildren(...published.nodes);
    code.classList.remove("live-edited");
    restore.hidden = true;
  }

  function fail(text) {
    element.querySelector(":scope > .live-failed")?.remove();
    if (!text) return;
    const told = document.createElement("pre");
    told.className = "live-failed";
    told.textContent = `${text}\nWhat the cell shows is the published run.`;
    element.append(told);
  }

  return { own, source: () => source, reset, fail };
}

const trimmed = (text) => text.replace(/\n$/, "");

function button(text, number) {
  const made = document.createElement("button");
  made.type = "button";
  name(made, text, number);
  return made;
}

function name(button, text, number) {
  button.textContent = text;
  button.setAttribute("aria-label", `${text} code cell ${number + 1}`);
}

/** A field for plain text that looks like the code, as high as its lines. */
function editor(source, number, { fontSize, lineHeight }) {
  const area = document.createElement("textarea");
  area.className = "live-editor";
  area.value = source;
  area.spellcheck = false;
  area.autocapitalize = "off";
  area.wrap = "off";
  Object.assign(area.style, { fontSize, lineHeight });
  area.setSelectionRange(0, 0);
  area.setAttribute("aria-label", `Source of code cell ${number + 1}. Control Enter runs it, Escape gives it up.`);
  const fit = () => (area.rows = area.value.split("\n").length);
  area.addEventListener("input", fit);
  fit();
  return area;
}
