/*
 * Parses blocks of a log in this thread or in workers, behind one interface. Parsing takes most of
 * the time of reading a log, so several threads read a long log faster.
 */

import { Worker } from "node:worker_threads";

import { workerProgram } from "../../../core/application_support.ts";
import type { Layout } from "./layout.ts";
import { blockParser, type ReadLogOptions } from "./parse_block.ts";
import type { Columns, ParserClients } from "./trace.ts";

/** A reader of blocks: this thread, or another one. */
export interface Parser {
  readonly clients: ParserClients;
  parse(block: Uint8Array, layout: Layout): Promise<Columns>;
  close(): Promise<unknown>;
}

/** Reads blocks in this thread. */
export function ownParser(options: ReadLogOptions): Parser {
  const parse = blockParser(options);
  return {
    clients: { keys: [], ids: [] },
    parse: async (block, layout) => await parse(block, layout),
    close: () => Promise.resolve(),
  };
}

/** Starts a thread that reads blocks, and answers in order. */
export function parserThread(): Parser {
  const worker = new Worker(workerProgram(import.meta.url, "parser_worker"));
  const waiting: { resolve(columns: Columns): void; reject(error: unknown): void }[] = [];
  worker.on("message", (columns: Columns) => waiting.shift()?.resolve(columns));
  worker.on("error", (error) => waiting.splice(0).forEach(({ reject }) => reject(error)));
  return {
    clients: { keys: [], ids: [] },
    parse: (block, layout) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        // Copied: the rest of its buffer may be needed here, or be the caller's.
        const own = new Uint8Array(block);
        worker.postMessage({ block: own, layout }, [own.buffer]);
      }),
    close: () => worker.terminate(),
  };
}
