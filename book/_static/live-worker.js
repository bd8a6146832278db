// Python for one page, beside the page's own thread.
//
// The first message names the page and where Python's files lie. Each later one asks the
// kernel, `costlib.book.live.kernel`, for something; the kernel's messages go to the page
// as they are, with the number of the request that they answer.

let manifest, python, answer;
let request = 0; // the number of the request that is being answered
let turn = Promise.resolve(); // one after the other
let drawing; // the next figure

onmessage = ({ data }) => inTurn(() => (data.call ? ask(data) : Promise.race([start(data), loss])));

function inTurn(step) {
  turn = turn.then(step).catch(broken);
}

const post = (message) => postMessage({ request, ...message });

function broken(error) {
  console.info(error); // for whoever looks into it; the reader gets a sentence
  post({ kind: "broken", text: error instanceof Absent ? error.message : "Python stopped working" });
}

// ---------------------------------------------------------------- files

class Absent extends Error {}

let lost; // called when a file cannot be had: Pyodide itself may wait for it for ever
const loss = new Promise((_, reject) => (lost = reject));
loss.catch(() => {});

const begun = new Map(); // files asked for before Pyodide asks for them
const meter = { label: "", bytes: 0, total: 0, told: 0 };
const download = self.fetch;

// Pyodide fetches its files itself. Each passes through here, so that the bar shows what has arrived.
self.fetch = async (address, options) => {
  const early = begun.get(String(address));
  begun.delete(String(address));
  return early ? new Response(await early) : counted(String(address), options);
};

async function counted(address, options) {
  const file = address.split("/").pop();
  const answered = await download(address, options).catch(() => ({ ok: false, status: "no connection" }));
  if (!answered.ok) {
    const error = new Absent(`${file} could not be loaded (${answered.status})`);
    lost(error);
    throw error;
  }
  const counting = new TransformStream({
    transform(chunk, out) {
      out.enqueue(chunk);
      arrived(chunk.length);
    },
  });
  return new Response(answered.body.pipeThrough(counting), { headers: answered.headers });
}

function arrived(bytes) {
  meter.bytes += bytes;
  const now = performance.now();
  if (now - meter.told < 100 && meter.bytes < meter.total) return;
  meter.told = now;
  post({ kind: "loading", label: meter.label, bytes: Math.min(meter.bytes, meter.total), total: meter.total });
}

function group(name) {
  const found = manifest.groups.find((each) => each.name === name);
  if (!found) throw new Absent(manifest.missing?.[name] ?? `the site was built without ${name}`);
  return found;
}

const size = (files) => files.reduce((sum, file) => sum + file.bytes, 0);
const described = (each) => `${each.label}, ${(size(each.files) / 1e6).toFixed(1)} MB`;
const packages = (each) => each.files.filter((file) => file.kind === "wheel" || file.package === "openblas");

function measure(...groups) {
  const total = size(groups.flatMap((each) => each.files));
  Object.assign(meter, { label: groups.map(described).join(", and "), bytes: 0, total, told: 0 });
  arrived(0);
}

/** Ask for files at once, while Python starts: they are ready when it wants them. */
function begin(live, files) {
  for (const { file } of files) {
    const content = counted(live + file).then((response) => response.arrayBuffer());
    content.catch(() => {}); // whoever takes the file hears of it
    begun.set(live + file, content);
  }
}

async function install(each) {
  const names = each.files.map((file) => file.package).filter((name) => name !== "book");
  const problems = [];
  const report = { messageCallback() {}, errorCallback: (text) => problems.push(text) };
  await python.loadPackage(names, report).catch((error) => problems.push(error.message));
  if (problems.length) throw new Absent(problems.find((text) => text.includes("could not")) ?? problems[0]);
}

const beside = new Set(); // groups on their way, or here

/** Load a group while requests are answered; the kernel hears of it when it has arrived. */
async function load(name) {
  if (beside.has(name)) return;
  beside.add(name);
  try {
    measure(group(name));
    await install(group(name));
    inTurn(() => {
      answer("arrived", JSON.stringify([name]));
      draw();
    });
  } catch (error) {
    beside.delete(name); // it may be asked for again
    post({ kind: "unavailable", group: name, text: error.message });
  }
}

// ---------------------------------------------------------------- the kernel

// Messages cross as text: converting a thousand values one by one takes longer.
const SETUP = `
import json
import os

from costlib.book.live import kernel

os.makedirs("book", exist_ok=True)
os.chdir("book")
kernel = kernel.start(json.loads(book), page, lambda message: tell(json.dumps(message)))


def answer(call, given="[]"):
    return getattr(kernel, call)(*json.loads(given))
`;

async function start({ page, live }) {
  manifest = await (await counted(`${live}manifest.json`)).json();
  const numbers = group("numbers");
  measure(group("core"), numbers);
  begin(live, [...numbers.files, { file: "book.json" }]);
  const { loadPyodide } = await import(`${live}pyodide.mjs`);
  python = await loadPyodide({ indexURL: live });
  await install(numbers);
  post({ kind: "starting" });
  python.unpackArchive(await (await fetch(`${live}book.zip`)).arrayBuffer(), "zip", { extractDir: "book" });
  const book = await (await fetch(`${live}book.json`)).text();
  const given = { book, page, tell: (text) => post(JSON.parse(text)) };
  for (const [name, value] of Object.entries(given)) python.globals.set(name, value);
  python.runPython(SETUP);
  answer = python.globals.get("answer");
}

/** Ask the kernel; what it needs of other groups comes beside. */
function ask({ request: number, call, given, needs }) {
  request = number;
  answer(call, JSON.stringify(given));
  post({ kind: "answered" });
  draw();
  if (needs) load(needs);
}

/** Figures are drawn one by one, so that what is newer comes first. */
function draw() {
  clearTimeout(drawing);
  drawing = setTimeout(() => inTurn(() => answer("draw") && draw()));
}
