// The control above the page: its fields, what is wrong with them, and the bar that says what happens.

const TYPING = 400; // ms without a key until typed text counts
const STILL = "The page still shows the published values.";

/**
 * @param {HTMLElement} control The `details` with the form.
 * @param {object} on What to call: `want(key, text, step)`, `read(file)`, `compute()`, `reset()`, `stop()`, `copy()`.
 */
export function controlOf(control, on) {
  const form = control.querySelector("form");
  const fields = [...form.elements].filter((field) => field.name);
  const bar = document.querySelector(".hardware-bar");
  const status = bar.querySelector(".hardware-status");
  const progress = bar.querySelector("progress");
  const elapsed = bar.querySelector(".hardware-elapsed");
  const stop = bar.querySelector(".hardware-stop");
  const back = bar.querySelector(".hardware-back");
  const summary = control.querySelector("summary");
  let typing, announcing, counting;
  let waiting = ""; // what is said beside what loads
  let said = ""; // the last that was said
  let again = false; // whether the reader did something since: an answer in the same words is another
  let told = null; // the field, with the reader in it, whose notice the status says
  let writing = null; // the field whose text does not count yet
  let step = true; // whether the next change is a step of its own in the history

  const want = (field) => {
    settle();
    on.want(field.name, field.value.trim(), step);
    step = false;
  };
  function settle() {
    clearTimeout(typing);
    writing = null;
  }
  form.addEventListener("input", ({ target }) => {
    if (!target.name) return;
    settle();
    writing = target;
    typing = setTimeout(want, target.matches("select") ? 0 : TYPING, target);
  });
  form.addEventListener("change", ({ target }) => {
    if (!target.name) return;
    want(target);
    step = true;
  });
  form.querySelector("[type=file]").addEventListener("change", ({ target }) => {
    if (target.files.length) on.read(target.files[0]);
    target.value = ""; // so that the same file, changed, can be chosen again
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    settle();
    on.compute();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    on.reset();
  });
  control.querySelector(".hardware-copy").addEventListener("click", on.copy);
  stop.addEventListener("click", on.stop);
  back.addEventListener("click", on.reset);
  control.hidden = false;

  /** Say something once; after what the reader did, also what was said before: a space is heard by no one. */
  function say(text) {
    clearTimeout(announcing);
    bar.hidden = false;
    if (text !== said || again) status.textContent = status.textContent === text ? `${text}\u00a0` : text;
    said = text;
    again = false;
  }

  /** Show a button, or hide it; the focus that it had goes to the control. */
  function show(button, there) {
    const focused = button === document.activeElement;
    button.hidden = !there;
    if (focused && !there) summary.focus({ preventScroll: true });
  }

  /**
   * What describes a field: what is wrong with it, or else its notice; of what the status says as it comes, nothing
   * until the reader comes back.
   */
  function describe(field) {
    const alone = field === told || field.hasAttribute("aria-invalid");
    field.setAttribute("aria-describedby", `problem-${field.name}${alone ? "" : ` notice-${field.name}`}`);
  }
  form.addEventListener("focusout", () => {
    const left = told;
    told = null;
    if (left) describe(left);
  });

  /** Say something at each field that it concerns, and nothing at the others. */
  function tell(what, found) {
    for (const { name } of fields) {
      const text = [found[name] ?? ""].flat().join(" ");
      const place = document.getElementById(`${what}-${name}`);
      const field = form.elements[name];
      if (what === "notice" && place.textContent !== text && field === document.activeElement) told = field;
      if (place.textContent !== text) place.textContent = text;
      const folded = text && place.closest(".hardware-more:not([open])");
      if (folded) folded.open = true;
    }
  }

  /** A model from the reader's file is one of the choices for as long as it is the one. */
  function offerOwn(inputs) {
    form.querySelector(".hardware-own")?.remove();
    if (inputs.model || !inputs["model.attention"]) return;
    const option = new Option(inputs["model.title"] ?? "Your own", "own", false, true);
    option.className = "hardware-own";
    form.elements.model.prepend(option);
  }

  /** Inputs in words. */
  function namesOf(inputs) {
    return Object.entries(inputs).flatMap(([key, text]) => {
      const field = fields.find(({ name }) => name === key);
      const [part, name] = key.split(".");
      const title = inputs[`${part}.title`]; // of the reader's own, which says it all
      if (title) return name === "title" ? title : [];
      if (!name) return [...(field?.options ?? [])].find(({ value }) => value === text)?.text ?? text;
      const label = field?.labels[0].textContent ?? key;
      return `${label.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())} ${text}`;
    });
  }

  return {
    fields,
    say,

    /** The reader did something: what is said next answers it. */
    heed() {
      again = true;
    },

    /** Say a result, when no other follows at once: who turns a dial hears the last only. */
    conclude(text) {
      clearTimeout(announcing);
      announcing = setTimeout(say, 500, text);
    },

    /** Show these inputs in the fields; where they are not the reader's last word, but for the one being typed in. */
    fill(inputs, { beside = false } = {}) {
      if (!beside) settle();
      step = true;
      for (const field of fields) {
        if (field === writing) continue;
        const text = inputs[field.name] ?? "";
        if (field.value.trim() !== text) field.value = text;
      }
      offerOwn(inputs);
    },

    /** Say in the empty fields what they stand at: another node has other accelerators than the published one. */
    stands(values) {
      for (const field of fields) {
        if (field.matches("select")) continue;
        const { published, unit } = field.dataset;
        const value = values[field.name]; // null where the chosen part has none
        field.placeholder = value === undefined ? published : value === null ? "" : `${value} ${unit}`.trim();
      }
    },

    /** Say beside each field what is wrong with it. Returns what no field is there for. */
    problems(found) {
      tell("problem", found);
      for (const field of fields) {
        if (found[field.name]) field.setAttribute("aria-invalid", "true");
        else field.removeAttribute("aria-invalid");
      }
      fields.forEach(describe);
      if (Object.keys(found).length) control.open = true;
      return Object.entries(found).filter(([key]) => !fields.some(({ name }) => name === key));
    },

    /** Say beside each field what the reader has to hear, though it can be computed. */
    notices(found) {
      tell("notice", found);
      fields.forEach(describe);
    },

    /** What is on its way, and how far; nothing where nothing is. Says whether the status still speaks of it. */
    loading(label, bytes, total) {
      const text = label && waiting ? `${label}. ${waiting}` : label;
      progress.hidden = !label;
      if (!label) return Boolean(said) && said === status.dataset.label;
      if (total) Object.assign(progress, { max: total, value: bytes });
      else progress.removeAttribute("value");
      progress.setAttribute("aria-label", label);
      if (status.dataset.label !== text) say(text);
      status.dataset.label = text;
    },

    /** Say what goes on, and for how long already; nothing ends it. */
    counting(label) {
      clearInterval(counting);
      elapsed.textContent = "";
      if (!label) return;
      say(label);
      const begun = Date.now();
      progress.removeAttribute("value");
      const tell = () => {
        progress.hidden = false;
        elapsed.textContent = ` ${Math.round((Date.now() - begun) / 1000)} s`;
      };
      counting = setInterval(tell, 1000);
    },

    /** How many steps of what goes on are done. */
    done(count, of) {
      Object.assign(progress, { max: of, value: count });
    },

    /** What the page shows now; the published values, if it waits for those of other inputs. */
    shows({ inputs, waitsFor, running, yours }) {
      waiting = waitsFor ? STILL : "";
      const named = namesOf(waitsFor ?? inputs).join(", ");
      summary.querySelector(".live-inputs")?.remove();
      if (named) summary.append(inputsOf(`. ${waitsFor ? `${STILL} Being computed` : "Yours"}: ${named}`));
      show(stop, running);
      show(back, yours);
      document.documentElement.classList.toggle("live-yours", yours);
    },

    file(text) {
      const link = control.querySelector(".hardware-file");
      link.hidden = !text;
      link.href = `data:application/toml;charset=utf-8,${encodeURIComponent(text)}`;
    },
  };
}

function inputsOf(text) {
  const words = document.createElement("span");
  words.className = "live-inputs";
  words.textContent = text;
  return words;
}
