/*
 * A worker for the test of the crew: while the word at 0 of what it shares with the test is 0 it
 * serves, and dies when it is told to; while it is 1 it cannot start, and stays there.
 */
import { parentPort, workerData } from "node:worker_threads";

import { figures } from "../../../../adapters/service/metrics/figures.ts";

const port = parentPort!;
const counted = figures();
counted.call("any", 200, 0);
const word = new Int32Array(workerData.shared as SharedArrayBuffer);
port.on("message", (message: { readonly kind: string; readonly id: number }) => {
  if (message.kind === "rules") throw new Error("no taste for rules");
  if (message.kind === "figures") {
    port.postMessage({ kind: "figures", id: message.id, figures: counted.snapshot() });
  }
  if (message.kind === "stop") port.postMessage({ kind: "stopped" });
});
if (Atomics.load(word, 0) === 0) port.postMessage({ kind: "listening", port: 4_242 });
else {
  Atomics.sub(word, 0, 1);
  port.postMessage({ kind: "failed", message: "the port is taken" });
}
