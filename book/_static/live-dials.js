// Values in sentences that are inputs: dragged sideways, or stepped from the keyboard.
//
// A dial goes by the steps of its field in the control. It is no link any more, since an element
// is one thing for who cannot see it; a click, or Enter, still leads to the cell.

const PIXELS = 16; // of a drag, a step
const THRESHOLD = 4; // pixels until a press is a drag
const KEYS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 3, PageDown: -3, Home: -1e3, End: 1e3 };

/** The value so many steps from a number: powers of two, or 1, 2, 5 and their tens. */
export function stepped(number, steps, { step, low, high }) {
  const rungs = ladder(step).filter((rung) => rung >= low && rung <= high);
  const above = rungs.findIndex((rung) => rung > number * (1 + 1e-9));
  const at = above < 0 ? rungs.length : above;
  const on = at > 0 && Math.abs(rungs[at - 1] - number) <= 1e-9 * Math.abs(number);
  const from = steps > 0 || on ? at - 1 : at;
  return rungs[Math.min(Math.max(from + steps, 0), rungs.length - 1)] ?? number;
}

function ladder(step) {
  if (step === "doubling") return Array.from({ length: 46 }, (_, i) => 2 ** (i - 6));
  return [0, ...Array.from({ length: 24 }, (_, i) => [1, 2, 5].map((first) => Number(`${first}e${i - 9}`))).flat()];
}

/**
 * @param {HTMLElement[]} fields Of the control.
 * @param {function} want Called with a field's name, its new text, and whether this is a step of its own.
 */
export function dialsOf(fields, want) {
  const made = [];
  for (const data of document.querySelectorAll("a > data[data-dial]")) {
    const field = fields.find(({ name }) => name === data.dataset.dial);
    if (field?.dataset.step) made.push(dial(data.parentElement, data, field, want));
  }
  return {
    /** The page shows what was asked for, or will not: dials say what their values say. */
    settle: () => made.forEach((tell) => tell()),
  };
}

function dial(link, data, field, want) {
  const { step, unit } = field.dataset;
  const limits = { step, low: Number(field.dataset.low), high: Number(field.dataset.high) };
  const address = link.getAttribute("href");
  let press = null; // where a drag began, and with which number

  link.removeAttribute("href");
  link.classList.add("live-dial");
  link.tabIndex = 0;
  link.draggable = false;
  for (const [name, value] of Object.entries({
    role: "spinbutton",
    "aria-label": field.labels[0].textContent,
    "aria-valuemin": limits.low,
    "aria-valuemax": limits.high,
  })) {
    link.setAttribute(name, value);
  }
  tell();

  function now() {
    return Number.parseFloat(field.value.trim() || field.dataset.published);
  }

  function tell() {
    delete link.dataset.turned;
    link.setAttribute("aria-valuenow", now());
    link.setAttribute("aria-valuetext", data.textContent);
  }

  function turn(number, step) {
    if (number === now()) return;
    const text = `${number} ${unit}`.trim();
    field.value = number === Number.parseFloat(field.dataset.published) ? "" : text;
    link.dataset.turned = `${number.toLocaleString("en", { maximumSignificantDigits: 9 })} ${unit}`.trim();
    link.setAttribute("aria-valuenow", number);
    link.setAttribute("aria-valuetext", link.dataset.turned);
    want(field.name, field.value, step);
  }

  function follow() {
    const shown = new URL(address, location);
    shown.search = location.search; // the inputs
    location.assign(shown);
  }

  link.addEventListener("keydown", (event) => {
    if (event.key === "Enter") follow();
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    turn(stepped(now(), KEYS[event.key], limits), !event.repeat);
  });
  link.addEventListener("pointerdown", (event) => {
    press = event.button === 0 ? { x: event.clientX, number: now(), dragged: false } : null;
  });
  link.addEventListener("pointermove", (event) => {
    if (!press || !event.buttons) return;
    const way = event.clientX - press.x;
    const first = !press.dragged;
    if (first && Math.abs(way) < THRESHOLD) return;
    if (first) link.setPointerCapture(event.pointerId);
    press.dragged = true;
    link.classList.add("live-turning");
    const steps = Math.round(way / PIXELS);
    turn(steps ? stepped(press.number, steps, limits) : press.number, first);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    link.addEventListener(end, () => link.classList.remove("live-turning"));
  }
  link.addEventListener("click", () => {
    if (!press?.dragged) follow();
    press = null;
  });
  return tell;
}
