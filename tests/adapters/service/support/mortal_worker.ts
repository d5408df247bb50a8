/*
 * A worker for the test of the crew: it says that it listens, and dies of the first rules that it is
 * given. How many documents it was started with, it tells as the status of a call.
 */
import { parentPort, workerData } from "node:worker_threads";

import { figures } from "../../../../adapters/service/metrics/figures.ts";

const port = parentPort!;
const counted = figures();
counted.call("documents", workerData.documents.length, 0);
port.on("message", (message: { readonly kind: string; readonly id: number }) => {
  if (message.kind === "rules") throw new Error("no taste for rules");
  if (message.kind === "figures") {
    port.postMessage({ kind: "figures", id: message.id, figures: counted.snapshot() });
  }
  if (message.kind === "stop") port.postMessage({ kind: "stopped" });
});
port.postMessage({ kind: "listening", port: 4_242 });
