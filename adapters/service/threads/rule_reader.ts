/*
 * Reads rules while the service goes on serving, because YAML of 10,000 rules takes half a second.
 *
 * This file is what a worker runs; it is not imported.
 */

import { parentPort, workerData } from "node:worker_threads";

import { readDocuments } from "../../rules/rules.ts";

if (parentPort !== null) {
  const { rules, problems } = await readDocuments(
    ...(workerData as Parameters<typeof readDocuments>),
  );
  parentPort.postMessage([rules?.files, problems]);
}
