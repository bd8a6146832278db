// The worker that runs Python: started on first use, asked one thing at a time, the newest wish first.

const CANNOT = "Python could not be run in this browser";

// A worker that comes from an address has no policy but what the server sends with it; one made in the
// page, as this is, has the page's: code that the reader edits reaches no other host either. Its script
// comes by `import()`, which the policy takes for a script; messages wait until it is there.
const BEGINNING = `
  const early = [];
  onmessage = (event) => early.push(event);
  import(${JSON.stringify(new URL("live-worker.js", import.meta.url).href)}).then(
    () => early.forEach((event) => onmessage(event)),
    () => postMessage({ kind: "broken", text: "Python could not be loaded" }),
  );`;
const SOURCE = URL.createObjectURL(new Blob([BEGINNING], { type: "text/javascript" }));

export class Python {
  #worker = null;
  #asked = null; // the wish that the worker works on
  #wishes = new Map(); // what is to be asked next, by what it is about: a newer wish takes the place of an older
  #sent = new Map(); // wishes by their number
  #number = 0;

  /**
   * @param {object} place `page`, its name, and `live`, the address of Python's files.
   * @param {function} hear Called with each message of the worker, and the wish that it answers.
   */
  constructor(place, hear) {
    this.place = place;
    this.hear = hear;
  }

  get running() {
    return this.#worker !== null;
  }

  get busy() {
    return this.#asked !== null || this.#wishes.size > 0;
  }

  /** Have `call` of the kernel called with `arguments`, after which the group of packages `needs` is loaded. */
  ask(wish) {
    if (!this.running) this.#start();
    this.#wishes.delete(wish.about);
    this.#wishes.set(wish.about, wish);
    this.#next();
  }

  /** Forget what has been asked, and hear no answers to it; silent wishes, which keep Python in step, are kept. */
  forget() {
    for (const [about, wish] of this.#wishes) if (!wish.silent) this.#wishes.delete(about);
    this.#sent.clear();
  }

  stop() {
    this.#worker?.terminate();
    this.#worker = this.#asked = null;
    this.#wishes.clear();
    this.#sent.clear();
  }

  #start() {
    const worker = new Worker(SOURCE, { type: "module" });
    const heard = (message) => worker === this.#worker && this.#heard(message);
    worker.onmessage = ({ data }) => heard(data);
    worker.onmessageerror = worker.onerror = (event) => {
      event.preventDefault?.();
      heard({ kind: "broken", text: CANNOT });
    };
    this.#worker = worker;
    worker.postMessage(this.place);
  }

  #heard(message) {
    if (message.kind === "broken") this.stop();
    if (message.kind === "answered") this.#asked = null;
    this.hear(message, this.#sent.get(message.request));
    this.#next();
  }

  #next() {
    if (!this.running || this.#asked || !this.#wishes.size) return;
    const [about, wish] = this.#wishes.entries().next().value;
    this.#wishes.delete(about);
    this.#asked = wish;
    this.#sent.set(++this.#number, wish);
    const { call, given, needs } = wish;
    this.#worker.postMessage({ request: this.#number, call, given, needs });
  }
}
