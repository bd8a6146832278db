// Values in sentences that are inputs: dragged sideways, or stepped from the keyboard.
//
// A dial goes by the steps of its field in the control: small ones or, with Shift, large ones. It is no
// link any more, since an element is one thing for who cannot see it; a click, or Enter, still leads to the cell.

const PIXELS = { small: 4, large: 16 }; // of a drag, a step
const THRESHOLD = 4; // pixels until a press is a drag
const KEYS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 1, PageDown: -1 };

/** The value so many small steps from a number: multiples of one in its second digit, or of the least step. */
export function nudged(number, steps, { least, low, high }) {
  const up = Math.sign(steps);
  for (let left = Math.abs(steps); left > 0; left--) {
    const order = Math.floor(Math.log10(number * (1 + up * 1e-9))); // from 10 it goes up to 11, and down to 9.9
    const unit = Math.max(10 ** (order - 1), least);
    const next = up > 0 ? Math.floor(number / unit + 1e-6) + 1 : Math.ceil(number / unit - 1e-6) - 1;
    number = Math.min(Math.max(Number((next * unit).toPrecision(12)), low), high);
  }
  return number;
}

/** The value so many large steps from a number: powers of two, or 1, 2, 5 and their tens. */
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
    /** The page shows this now, whatever was asked for: numbers by field, in its unit; published ones are left out. */
    settle: (numbers) => made.forEach((tell) => tell(numbers)),
  };
}

/** Whether another part was chosen than that which has the published value. */
const another = (field) => Boolean(field.form.elements[field.name.split(".")[0]]?.value);

function dial(link, data, field, want) {
  const { step, unit } = field.dataset;
  const [least, low, high] = ["least", "low", "high"].map((name) => Number(field.dataset[name]));
  const limits = { step, least, low, high };
  const address = link.getAttribute("href");
  let number; // what it stands at
  let press = null; // where a drag began, and with which number

  link.removeAttribute("href");
  link.classList.add("live-dial");
  link.tabIndex = 0;
  link.draggable = false;
  for (const [name, value] of Object.entries({
    role: "spinbutton",
    "aria-label": field.labels[0].textContent,
    "aria-valuemin": low,
    "aria-valuemax": high,
  })) {
    link.setAttribute(name, value);
  }
  tell({});

  function tell(numbers) {
    number = numbers[field.name] ?? Number.parseFloat(field.dataset.published);
    delete link.dataset.turned;
    link.setAttribute("aria-valuenow", number);
    link.setAttribute("aria-valuetext", data.textContent);
  }

  function turn(to, step) {
    if (to === number) return;
    number = to;
    field.value = to === Number.parseFloat(field.dataset.published) && !another(field) ? "" : `${to} ${unit}`.trim();
    link.dataset.turned = `${to.toLocaleString("en", { maximumSignificantDigits: 9 })} ${unit}`.trim();
    link.setAttribute("aria-valuenow", to);
    link.setAttribute("aria-valuetext", link.dataset.turned);
    want(field.name, field.value, step);
  }

  /** How a dial goes while Shift is held, or is not: where no small step makes sense, all are large. */
  function pace(large) {
    return large || !least ? { by: stepped, pixels: PIXELS.large } : { by: nudged, pixels: PIXELS.small };
  }

  function follow() {
    const shown = new URL(address, location);
    shown.search = location.search; // the inputs
    location.assign(shown);
  }

  link.addEventListener("keydown", (event) => {
    if (event.key === "Enter") follow();
    const steps = KEYS[event.key];
    const { by } = pace(event.shiftKey || event.key.startsWith("Page"));
    const next = { Home: low, End: high }[event.key] ?? (steps && by(number, steps, limits));
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    turn(next, !event.repeat);
  });
  link.addEventListener("pointerdown", (event) => {
    press = event.button === 0 ? { x: event.clientX, number, dragged: false, turned: false } : null;
  });
  link.addEventListener("pointermove", (event) => {
    if (!press || !event.buttons) return;
    const way = event.clientX - press.x;
    if (!press.dragged && Math.abs(way) < THRESHOLD) return;
    if (!press.dragged) link.setPointerCapture(event.pointerId);
    press.dragged = true;
    link.classList.add("live-turning");
    const { by, pixels } = pace(event.shiftKey);
    const steps = Math.round(way / pixels);
    const to = steps ? by(press.number, steps, limits) : press.number;
    if (to === number) return;
    turn(to, !press.turned); // a drag is one step in the history
    press.turned = true;
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
