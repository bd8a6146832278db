// The reader's inputs in the address: a link carries the scenario, and so does the way to another page of the book.

const parts = document.getElementById("hardware")?.dataset.parts.split(" ") ?? []; // of a scenario
const ours = (key) => parts.includes(key.split(".")[0]);

let known = location.search; // what the page follows already

/** The inputs that an address carries; what else it carries is not ours. */
export function inputs(query = location.search) {
  return Object.fromEntries([...new URLSearchParams(query)].filter(([key, text]) => ours(key) && text.trim()));
}

/** An address with these inputs in the place of those that it carries. */
function carrying(address, given) {
  const url = new URL(address, location);
  const others = [...url.searchParams].filter(([key]) => !ours(key));
  const query = new URLSearchParams([...others, ...Object.entries(given)]);
  url.search = String(query).replaceAll("%2F", "/");
  return url.href;
}

/** Write the inputs into the address; a step of its own in the history, or in the place of the last. */
export function write(given, step) {
  const address = carrying(location.href, given);
  if (address !== location.href) history[step ? "pushState" : "replaceState"](null, "", address);
  known = location.search;
}

/** Call with the inputs whenever the reader goes back or forward to others; another place of the page has the same. */
export function follow(take) {
  addEventListener("popstate", () => {
    if (location.search === known) return;
    known = location.search;
    take(inputs());
  });
}

/** Have links to other pages of the book carry the inputs, at the moment that they are used. */
export function carry(given, attribute) {
  const root = document.documentElement.dataset.content_root ?? "./";
  const home = new URL(root, location).href;
  const prepare = ({ target }) => {
    const link = target.closest?.("a[href]");
    if (!link?.href.startsWith(home) || link.pathname === location.pathname || !/(\.html|\/)$/.test(link.pathname)) return;
    const wanted = carrying(link.href, given());
    if (link.href !== wanted) attribute(link, "href", wanted);
  };
  for (const event of ["pointerdown", "contextmenu", "click", "auxclick"]) addEventListener(event, prepare, true);
}
