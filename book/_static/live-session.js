// From the first use on: what the reader wants goes to Python, and what Python answers onto the page.

import * as address from "./live-address.js";
import * as page from "./live-page.js";
import { Python } from "./live-python.js";
import { tips } from "./live-tips.js";

const LARGEST_FILE = 2 ** 24; // bytes; a file of weights is not even opened
const BROUGHT = { node: ["link", "host_link"] }; // parts that come with another
const STORED = ["precision.weights", "precision.arithmetic", "reserve.weights"]; // what a model's own file says beside

export function begin({ details, control, cells, dials }) {
  let wanted = {}; // what the reader wants to see
  let shown = {}; // what the page shows
  let standing = {}; // where its dials stand
  let fresh = true; // whether Python has not answered yet since it was started
  let ownStep = false; // whether what is wanted is a step of its own in the history
  let taken = false; // whether what is wanted is what the address says
  let long = false; // whether the cells that take long are run
  let quiet; // a timer, until Python has said nothing for a while
  let waiting = false; // whether figures wait for files
  let refusal = ""; // why what is wanted is not what the page shows
  let noticed = []; // what stands beside fields, of what it shows
  let news = []; // what of that the reader has not heard yet
  const live = new URL(details.dataset.live, location).href;
  const python = new Python({ page: details.dataset.page, live }, hear);
  const hideTip = tips(saysOf);
  address.carry(() => shown, page.attribute);

  // -------------------------------------------------------------- what the reader does

  function want(key, text, step) {
    const others = without(key);
    const brought = Object.keys(wanted).some((name) => name !== key && !(name in others));
    if ((wanted[key] ?? "") === text && !brought) return;
    wanted = text ? { ...others, [key]: text } : others; // the newest last: it is at fault where two do not fit
    if (brought) control.fill(wanted);
    compute({ step });
  }

  /** What is wanted but for one input; a part, chosen anew, brings its own values. */
  function without(key) {
    const stored = key === "model" && wanted["model.attention"] ? STORED : [];
    const parts = [key, ...(BROUGHT[key] ?? [])];
    const goes = (name) => parts.includes(name) || parts.includes(name.split(".")[0]) || stored.includes(name);
    return Object.fromEntries(Object.entries(wanted).filter(([name]) => !goes(name)));
  }

  /** Have Python read the file of a model: its values take the place of the model's. */
  async function read(file) {
    const text = file.size > LARGEST_FILE ? null : await file.text().catch(() => null);
    if (text === null) refuse({ model: `${file.name} cannot be read; wanted a config.json, of some kilobytes.` });
    else ask({ about: "model", call: "model_file", given: [file.name, text], model: wanted.model });
  }

  function take(inputs) {
    if (JSON.stringify(inputs) === JSON.stringify(wanted)) return;
    wanted = inputs;
    taken = true;
    ownStep = false;
    control.fill(wanted);
    compute({ step: false });
  }

  /** Ask for what the reader wants; the published values need nobody. */
  function compute({ step = true } = {}) {
    const edited = cells.edited();
    if (!Object.keys(wanted).length && !edited.size) return reset();
    if (step) taken = false;
    ownStep ||= step;
    const given = [wanted, page.figuresInView()];
    ask({ about: "inputs", call: "change", given, needs: "figures", inputs: wanted });
    if (fresh) edited.forEach((source, number) => edit(number, source));
  }

  function edit(number, source) {
    const given = [number, source, page.figuresInView()];
    ask({ about: `cell ${number}`, call: "edit", given, needs: "figures" });
  }

  function run(number, source) {
    if (fresh) compute(); // other edited cells too
    else edit(number, source);
  }

  function restore(number) {
    if (!Object.keys(wanted).length && !cells.edited().size) forget([number]);
    else if (python.running) ask({ about: `cell ${number}`, call: "restore", given: [number, page.figuresInView()] });
  }

  function runLong() {
    long = true;
    ask({ about: "long", call: "run_long", given: [page.figuresInView()], needs: "simulations" });
    control.counting("Running the cells that take long");
  }

  /** Who waits for long hears for what, and how long already: code may never end. */
  function watch() {
    clearTimeout(quiet);
    if (python.busy && !fresh && !long) quiet = setTimeout(control.counting, 1500, "Running the page's cells");
  }

  function endCount() {
    long = false;
    clearTimeout(quiet);
    control.counting("");
    control.loading("");
  }

  function ask(wish) {
    const starts = !python.running;
    control.heed();
    python.ask(wish);
    watch();
    update();
    if (starts) control.loading("Loading Python");
  }

  /** Back to the published page, at once; Python follows. */
  function reset() {
    forget([...cells.edited().keys()]);
  }

  function forget(edited) {
    control.heed();
    python.forget();
    if (python.running) {
      for (const number of edited) {
        python.ask({ about: `restore ${number}`, call: "restore", given: [number], silent: true });
      }
      python.ask({ about: "reset", call: "change", given: [{}], silent: true });
    }
    wanted = {};
    ownStep = false;
    control.fill({});
    cells.reset();
    publish();
    address.write({}, true);
    control.say("The page shows the published values.");
    update();
  }

  function publish() {
    endCount();
    hideTip();
    page.reset();
    control.file("");
    show({}, {});
    dials.settle(standing);
  }

  function stop() {
    control.heed();
    python.stop();
    endCount();
    fresh = true;
    page.settle("Python was stopped");
    wanted = shown;
    clearProblems();
    control.fill(wanted);
    dials.settle(standing);
    address.write(shown, false); // which may still have carried what was to be computed
    const left = document.querySelectorAll(".live-note").length;
    const rest = left ? ` What still shows the published run says so.` : "";
    control.say(`Python is stopped. ${describesPage()}${rest}`);
    update();
  }

  function copy() {
    control.heed();
    const link = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
    link.then(
      () => control.say("The link is copied; it carries your inputs."),
      () => control.say("The browser does not let the page copy; the address above carries your inputs."),
    );
  }

  // -------------------------------------------------------------- what Python says

  const told = {
    loading: ({ label, bytes, total }) => control.loading(`Loading ${label}`, bytes, total),
    starting: () => control.loading("Starting Python"),
    progress: ({ done, of }) => control.done(done, of),
    unavailable({ group, text }) {
      page.settle(text);
      endCount();
      control.say(`The ${group} stay as published: ${text}.`);
    },
    broken({ text }) {
      fresh = true;
      publish();
      const edited = cells.edited();
      edited.forEach((_, number) => cells.failed(number, text));
      const kept = edited.size ? "runs what you wrote again" : "tries again";
      control.say(`${text}. The page shows the published values; a change of the inputs ${kept}.`);
    },
  };

  const answers = {
    refused({ problems }, wish) {
      if (isWanted(wish)) refuse(problems);
    },
    model({ inputs }, wish) {
      if (!isWanted(wish)) return;
      wanted = { ...without("model"), ...inputs };
      control.fill(wanted, { beside: true });
      compute();
    },
    numbers(message, wish) {
      if (fresh) page.reset(); // what the page shows, another Python computed
      fresh = waiting = false;
      if (wish.inputs) accept(wish, message);
      hideTip();
      page.showNumbers(message);
      page.wait(message.figures ?? []);
      showNotes(message.stays, message.why);
      if (shown === wanted) dials.settle(standing); // else the reader goes on turning
    },
    figure: page.showFigure,
    stays({ cell, why, text }) {
      if (why === "waits") waiting = true;
      else page.stay(cell, still(text), why === "long" && runLong);
    },
    done() {
      if (!waiting) {
        page.drawn();
        endCount();
      }
      if (!python.busy) control.conclude(describesPage()); // once, with the figures
    },
  };

  /** Whether the reader has not changed meanwhile what they wished: the inputs, or the model that a file is to replace. */
  function isWanted(wish) {
    return wish.inputs ? wish.inputs === wanted : wish.model === wanted.model;
  }

  function refuse(problems) {
    const others = control.problems(problems).map(([key, text]) => `${key}: ${text}.`);
    dials.settle(standing);
    refusal = ["These inputs are not computed, and the page stays as it was.", ...others, ""].join(" ");
    control.say(describesPage());
  }

  function show(inputs, { stands = {}, notices = {} }) {
    const sentences = Object.values(notices).flat();
    if (inputs !== shown) news = sentences.filter((text) => !noticed.includes(text));
    noticed = sentences;
    shown = inputs;
    standing = stands;
    control.stands(standing);
    control.notices(notices);
    clearProblems();
  }

  function accept({ inputs }, message) {
    const again = inputs === shown; // with figures come their numbers, once more
    show(inputs, message);
    control.file(message.scenario);
    if (again || (taken && inputs !== wanted)) return; // the address is that of other inputs already
    address.write(shown, ownStep);
    ownStep = false;
  }

  function clearProblems() {
    refusal = "";
    control.problems({});
  }

  function showNotes(texts, why) {
    page.clearNotes();
    for (const [number, text] of Object.entries(texts)) {
      if (why[number] === "waits") waiting = true;
      const mine = cells.failed(Number(number), why[number] === "failed" ? text : "");
      page.stay(number, still(mine ? "Your code fails" : text), why[number] === "long" && runLong);
    }
  }

  function still(text) {
    return `This still shows the published run. ${text}.`;
  }

  function hear(message, wish) {
    told[message.kind]?.(message);
    if (wish && !wish.silent) answers[message.kind]?.(message, wish);
    if (message.kind === "answered" && !long) endCount();
    const over = !["loading", "starting"].includes(message.kind) && control.loading("");
    if (over && !python.busy) control.conclude(describesPage()); // also where nobody waits for it any more
    watch();
    update();
  }

  // -------------------------------------------------------------- in words

  function update() {
    const yours = Object.keys(shown).length > 0 || cells.edited().size > 0;
    const waits = fresh && python.running && !yours && !refusal && Object.keys(wanted).length > 0;
    control.shows({ inputs: shown, waitsFor: waits ? wanted : null, running: python.running, yours });
  }

  function describesPage() {
    return refusal ? refusal + describesShown() : [describesShown(), ...news].join(" ");
  }

  function describesShown() {
    if (!Object.keys(shown).length && !cells.edited().size) return "The page shows the published values.";
    const counts = Object.entries(page.differences()).filter(([, count]) => count);
    const words = counts.map(([thing, count]) => `${count} ${thing}${count === 1 ? "" : "s"}`);
    const failure = document.querySelector(".live-failed") ? "A cell fails, and says why below it." : "";
    if (!words.length && failure) return failure;
    if (!words.length) return "Nothing on this page differs from what is published.";
    const list = words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words[0];
    const one = counts.length === 1 && counts[0][1] === 1;
    const differs = `${list} ${one ? "differs" : "differ"} from what is published.`;
    return [differs, failure, describesOld()].filter(Boolean).join(" ");
  }

  function describesOld() {
    const old = document.querySelectorAll(".live-note").length;
    if (!old) return "";
    return old === 1
      ? "1 place still shows the published run, and says why."
      : `${old} places still show the published run, and say why.`;
  }

  function saysOf(element) {
    const data = element.querySelector("data") ?? element;
    const { why } = data.dataset;
    return why ? `This is the published value. ${why}.` : `published ${page.published(data)}, yours ${data.textContent}`;
  }

  return { want, take, read, compute, run, restore, reset, stop, copy };
}
