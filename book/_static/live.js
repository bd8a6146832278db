// A reader's own inputs: the page's cells run again under them, and the page shows what they give.
//
// Until the first use nothing is loaded but this and what it imports:
//
// - live-control.js: the form above the page, and the bar that says what happens
// - live-dials.js: inputs that stand in sentences
// - live-cells.js: code, to be edited and run
// - live-address.js: the inputs in the address
//
// What they do goes to live-session.js, which is loaded by the first use, and starts Python.

import * as address from "./live-address.js";
import { cellsOf } from "./live-cells.js";
import { controlOf } from "./live-control.js";
import { dialsOf } from "./live-dials.js";

const details = document.getElementById("hardware");
if (details && window.Worker && window.WebAssembly) begin();

function begin() {
  let session;
  const use =
    (action) =>
    (...given) => {
      session ??= import("./live-session.js").then((module) => module.begin({ details, control, cells, dials }));
      return session.then((begun) => begun[action](...given)).catch(failed);
    };
  const failed = (error) => {
    session = undefined;
    console.info(error);
    control.say("The script that computes the page could not be loaded. The page shows the published values.");
  };
  const [want, take, compute, reset] = ["want", "take", "compute", "reset"].map(use);
  const control = controlOf(details, { want, compute, reset, read: use("read"), stop: use("stop"), copy: use("copy") });
  const cells = cellsOf({ run: use("run"), restore: use("restore") });
  const dials = dialsOf(control.fields, want);
  const inputs = address.inputs();
  if (Object.keys(inputs).length) take(inputs);
  address.follow(take);
}
