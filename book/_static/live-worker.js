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

let live; // the address of Python's files
let lost; // called when a file of the start cannot be had: Pyodide itself may wait for it for ever
const loss = new Promise((_, reject) => (lost = reject));
loss.catch(() => {});

const begun = new Map(); // files asked for before anybody needs them, by address
const download = self.fetch;

// Pyodide fetches its files itself. Each passes through here, so that it is taken from those that were begun.
self.fetch = async (address, options) => {
  const early = begun.get(String(address));
  begun.delete(String(address));
  if (!early) return counted(bar, String(address), options);
  const content = await early;
  return content instanceof Response ? content : new Response(content);
};

// Where its program cannot be instantiated, Pyodide tells the console, and waits for ever.
const { instantiateStreaming } = WebAssembly;
WebAssembly.instantiateStreaming = async (...given) => {
  try {
    return await instantiateStreaming(...given);
  } catch (error) {
    lost(new Absent("Python's files are damaged"));
    throw error;
  }
};

/** A file; a meter counts its bytes as they arrive. */
async function counted(meter, address, options) {
  const file = address.split("/").pop();
  const answered = await download(address, options).catch(() => ({ ok: false, status: "no connection" }));
  if (!answered.ok) throw new Absent(`${file} could not be loaded (${answered.status})`);
  const counting = new TransformStream({
    transform(chunk, out) {
      out.enqueue(chunk);
      arrived(meter, chunk.length);
    },
  });
  const headers = new Headers(answered.headers);
  if (file.endsWith(".wasm")) headers.set("content-type", "application/wasm"); // which not every server knows
  return new Response(answered.body.pipeThrough(counting), { headers });
}

/** Ask for files at once: they are ready when somebody wants them. Ends when all are here. */
function begin(meter, files) {
  const contents = files.map(({ file }) => {
    const compiles = file.endsWith(".wasm"); // while it arrives
    const content = counted(meter, live + file).then((response) => (compiles ? response : response.arrayBuffer()));
    content.catch(() => begun.delete(live + file)); // whoever wants it asks again
    begun.set(live + file, content);
    return content;
  });
  return Promise.all(contents);
}

// ---------------------------------------------------------------- the bar

let bar; // the meter that the reader sees

const size = (files) => files.reduce((sum, file) => sum + file.bytes, 0);
const described = (each) => `${each.label}, ${(size(each.files) / 1e6).toFixed(1)} MB`;

function meterOf(...groups) {
  const total = size(groups.flatMap((each) => each.files));
  return { label: groups.map(described).join(", and "), bytes: 0, total, told: 0 };
}

function show(meter) {
  bar = meter;
  arrived(meter, 0);
}

function arrived(meter, bytes) {
  meter.bytes += bytes;
  const now = performance.now();
  if (meter !== bar || (now - meter.told < 100 && meter.bytes < meter.total)) return;
  meter.told = now;
  post({ kind: "loading", label: meter.label, bytes: Math.min(meter.bytes, meter.total), total: meter.total });
}

// ---------------------------------------------------------------- groups of packages

function group(name) {
  const found = manifest.groups.find((each) => each.name === name);
  if (!found) throw new Absent(manifest.missing?.[name] ?? `the site was built without ${name}`);
  return found;
}

const PACKAGES = "/lib/python3.12/site-packages";

/** Put the packages of a group where Python finds them. Pyodide's own way takes three times as long. */
async function install({ files }) {
  for (const { file, kind, package: name } of files) {
    if (kind === "wheel") {
      const content = await (await fetch(live + file)).arrayBuffer();
      python.unpackArchive(content, "wheel", { extractDir: PACKAGES });
    } else {
      await loadLibrary(name);
    }
  }
}

/** A library that those of packages are linked with: only Pyodide itself can load it. */
async function loadLibrary(name) {
  const problems = [];
  const report = { messageCallback() {}, errorCallback: (text) => problems.push(text) };
  await python.loadPackage(name, report).catch((error) => problems.push(error.message));
  if (problems.length) throw new Absent(problems.find((text) => text.includes("could not")) ?? problems[0]);
}

const coming = new Map(); // meters of groups on their way, or here

/** Ask for the files of a group, if the site has it. */
function fetchBeside(name) {
  const found = manifest.groups.find((each) => each.name === name);
  if (!found || coming.has(name)) return;
  coming.set(name, meterOf(found));
  begin(coming.get(name), found.files).catch(() => {}); // it is seen when they are wanted
}

const beside = new Set(); // groups that are being loaded, or are

/** Load a group while requests are answered; the kernel hears of it when it has arrived. */
async function load(name) {
  if (beside.has(name)) return;
  beside.add(name);
  try {
    const wanted = group(name);
    fetchBeside(name);
    show(coming.get(name));
    await install(wanted);
    post({ kind: "installed" }); // what comes now is computed, not loaded
    inTurn(() => {
      answer("arrived", JSON.stringify([name]));
      draw();
    });
  } catch (error) {
    beside.delete(name); // it may be asked for again
    coming.delete(name);
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

async function start({ page, live: folder }) {
  live = folder;
  const scripts = ["pyodide.mjs", "pyodide.asm.js"].map((file) => import(live + file));
  manifest = await (await counted({}, `${live}manifest.json`)).json();
  const [core, numbers] = [group("core"), group("numbers")];
  show(meterOf(core, numbers));
  const fetched = core.files.filter(({ file }) => !file.endsWith("js"));
  const all = begin(bar, [...fetched, ...numbers.files, { file: "book.json" }]);
  all.then(() => fetchBeside("figures"), lost); // they are wanted right after the first numbers
  const [{ loadPyodide }] = await Promise.all(scripts);
  arrived(bar, size(core.files) - size(fetched));
  python = await loadPyodide({ indexURL: live, env: { MPLBACKEND: "svg" } });
  await install(numbers);
  post({ kind: "starting" });
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
