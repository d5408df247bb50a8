/*
 * Reading rules beside the thread that serves calls: long texts are read by a worker, which comes and
 * goes, and what it found is compiled here, a few milliseconds at a time.
 */

import { Worker } from "node:worker_threads";

import {
  compileRules,
  readDocuments,
  type ReadRules,
  type ReadRulesOptions,
  type RuleDocument,
  type RuleFile,
  type RuleProblem,
} from "../../rules/rules.ts";
import { workerProgram } from "./worker_program.ts";

/** What the reading worker starts with. */
export interface ReaderSettings {
  readonly documents: readonly RuleDocument[];
  readonly options: ReadRulesOptions;
}

/** What the reading worker answers. */
export interface FilesRead {
  /** `undefined` if there is an error. */
  readonly files: readonly RuleFile[] | undefined;
  readonly problems: readonly RuleProblem[];
}

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
  const { files, problems } = await readByWorker({ documents, options });
  return { rules: files && await compileRules(files), problems };
}

function readByWorker(workerData: ReaderSettings): Promise<FilesRead> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerProgram(import.meta.url, "rule_reader"), { workerData });
    worker.on("message", (files: FilesRead) => {
      resolve(files);
      void worker.terminate();
    });
    worker.on("error", reject);
    worker.on(
      "exit",
      (code) => reject(new Error(`Cannot read rules as the reader ended: ${code}`)),
    );
  });
}
