/*
 * A worker for the test of the crew: it says that it listens, and dies of the first rules that it is
 * given. What it was started with, it tells as a figure.
 */
import { parentPort, workerData } from "node:worker_threads";

const port = parentPort!;
port.on("message", (message: { readonly kind: string; readonly id: number }) => {
  if (message.kind === "rules") throw new Error("no taste for rules");
  if (message.kind === "figures") {
    port.postMessage({ kind: "figures", id: message.id, figures: workerData.documents.length });
  }
  if (message.kind === "stop") port.postMessage({ kind: "stopped" });
});
port.postMessage({ kind: "listening", port: 4_242 });
