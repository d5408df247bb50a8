/*
 * Reads rules for a service that goes on serving meanwhile: YAML of 10,000 rules takes half a second.
 *
 * This file is what a worker runs; it is not imported.
 */

import { parentPort, workerData } from "node:worker_threads";

import { readDocuments } from "../../rules/rules.ts";
import type { FilesRead, ReaderSettings } from "./read_in_worker.ts";

if (parentPort !== null) {
  const { documents, options } = workerData as ReaderSettings;
  const { rules, problems } = await readDocuments(documents, options);
  parentPort.postMessage({ files: rules?.files, problems } satisfies FilesRead);
}
