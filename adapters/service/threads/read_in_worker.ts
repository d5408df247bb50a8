/*
 * Reads rules without blocking the thread that serves calls: a temporary worker reads long texts.
 * Its result is compiled on this thread, a few milliseconds at a time.
 */

import { Worker } from "node:worker_threads";

import { workerProgram } from "../../../core/application_support.ts";
import {
  compileRules,
  readDocuments,
  type ReadRules,
  type ReadRulesOptions,
  type RuleDocument,
  type RuleFile,
  type RuleProblem,
} from "../../rules/rules.ts";

/** The files, unless there is an error in one of them. */
type FilesRead = readonly [
  files: readonly RuleFile[] | undefined,
  problems: readonly RuleProblem[],
];

/** Characters that are read in less time than a worker takes to start. */
const SHORT = 16_384;

/** Reads documents as one configuration; long texts on a thread of their own. */
export async function readInWorker(
  documents: readonly RuleDocument[],
  { format, mergeDomains }: ReadRulesOptions = {},
): Promise<ReadRules> {
  const options = { format, mergeDomains };
  const texts = documents.flatMap((document) => "text" in document ? document.text : []);
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length <= SHORT || texts.length < documents.length) {
    return await readDocuments(documents, options);
  }
  const [files, problems] = await readByWorker([documents, options]);
  return { rules: files && await compileRules(files), problems };
}

function readByWorker(workerData: Parameters<typeof readDocuments>): Promise<FilesRead> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerProgram(import.meta.url, "rule_reader"), { workerData });
    worker.on("message", (files: FilesRead) => {
      resolve(files);
      void worker.terminate();
    });
    worker.on("error", reject);
    const ended = (code: number) =>
      new Error(`Cannot read rules because the reader ended: ${code}`);
    worker.on("exit", (code) => reject(ended(code)));
  });
}
