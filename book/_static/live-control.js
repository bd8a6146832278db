// The control above the page: its fields, what is wrong with them, and the bar that says what happens.

const TYPING = 400; // ms without a key until typed text counts

/**
 * @param {HTMLElement} control The `details` with the form.
 * @param {object} on What to call: `want(key, text, step)`, `reset()`, `stop()`, `copy()`.
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
  let step = true; // whether the next change is a step of its own in the history

  const want = (field) => {
    clearTimeout(typing);
    on.want(field.name, field.value.trim(), step);
    step = false;
  };
  form.addEventListener("input", ({ target }) => {
    clearTimeout(typing);
    typing = setTimeout(want, target.matches("select") ? 0 : TYPING, target);
  });
  form.addEventListener("change", ({ target }) => {
    want(target);
    step = true;
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(typing);
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

  function say(text) {
    clearTimeout(announcing);
    bar.hidden = false;
    if (status.textContent !== text) status.textContent = text;
  }

  return {
    fields,
    say,

    /** Say a result, when no other follows at once: who turns a dial hears the last only. */
    conclude(text) {
      clearTimeout(announcing);
      announcing = setTimeout(say, 500, text);
    },

    /** Show these inputs in the fields, but for the one that is being typed in. */
    fill(inputs) {
      clearTimeout(typing);
      for (const field of fields) {
        const text = inputs[field.name] ?? "";
        if (field.value.trim() !== text) field.value = text;
      }
    },

    /** Say in the empty fields what they stand at: another node has other accelerators than the published one. */
    stands(numbers) {
      for (const { name, dataset } of fields) {
        if (!dataset.step) continue;
        const now = name in numbers ? `${numbers[name]} ${dataset.unit}`.trim() : dataset.published;
        form.elements[name].placeholder = now;
      }
    },

    /** Say beside each field what is wrong with it. Returns what no field is there for. */
    problems(found) {
      for (const field of fields) {
        const text = found[field.name];
        const folded = field.closest("details:not([open])");
        if (text && folded) folded.open = true;
        document.getElementById(`problem-${field.name}`).value = text ?? "";
        if (text) field.setAttribute("aria-invalid", "true");
        else field.removeAttribute("aria-invalid");
      }
      if (Object.keys(found).length) control.open = true;
      return Object.entries(found).filter(([key]) => !fields.some(({ name }) => name === key));
    },

    /** What is on its way, and how far; nothing where nothing is. */
    loading(label, bytes, total) {
      progress.hidden = !label;
      if (!label) return;
      if (total) Object.assign(progress, { max: total, value: bytes });
      else progress.removeAttribute("value");
      progress.setAttribute("aria-label", label);
      if (status.dataset.label !== label) say(label);
      status.dataset.label = label;
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

    /** What the page shows now. */
    shows({ inputs, running, yours }) {
      const named = Object.entries(inputs).map(([key, text]) => {
        const field = fields.find(({ name }) => name === key);
        if (!key.includes(".")) return field?.selectedOptions[0]?.text || text;
        const label = field?.labels[0].textContent ?? key;
        return `${label.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())} ${text}`;
      });
      summary.querySelector(".live-inputs")?.remove();
      if (named.length) summary.append(inputsOf(named.join(", ")));
      stop.hidden = !running;
      back.hidden = !yours;
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
  words.textContent = `. Yours: ${text}`;
  return words;
}
