import { Worker } from "node:worker_threads";

import type { Layout } from "./layout.ts";
import { blockParser } from "./parse_block.ts";
import type { ReadLogOptions } from "./read_log_options.ts";
import type { Columns } from "./trace.ts";

/** What reads lines: this thread, or others. */
export interface Parsers {
  /** How many other threads there are. */
  readonly size: number;
  /** Reads a block in one of them; `parser` says in which. */
  parse(
    block: Uint8Array,
    layout: Layout,
  ): Promise<{ readonly columns: Columns; readonly parser: number }>;
  /** Ends them. */
  close(): Promise<unknown>;
}

/** Reads lines in this thread. */
export function ownParser(options: ReadLogOptions): Parsers {
  const parse = blockParser(options);
  return {
    size: 0,
    parse: async (block, layout) => ({ columns: await parse(block, layout), parser: 0 }),
    close: () => Promise.resolve(),
  };
}

/** What waits for a block's columns. */
interface Waiting {
  readonly resolve: (columns: Columns) => void;
  readonly reject: (error: unknown) => void;
}

/** Starts threads that read lines. Blocks go to them in turn; each answers in order. */
export function parserThreads(size: number): Parsers {
  const workers = Array.from({ length: size }, () => startWorker());
  let turn = 0;
  return {
    size,
    async parse(block, layout) {
      const parser = turn;
      turn = (turn + 1) % size;
      // The rest of its buffer may be needed here, or be the caller's.
      const own = new Uint8Array(block);
      const { worker, waiting } = workers[parser]!;
      const columns = await new Promise<Columns>((resolve, reject) => {
        waiting.push({ resolve, reject });
        worker.postMessage({ block: own, layout }, [own.buffer]);
      });
      return { columns, parser };
    },
    close: () => Promise.all(workers.map(({ worker }) => worker.terminate())),
  };
}

function startWorker(): { readonly worker: Worker; readonly waiting: Waiting[] } {
  const worker = new Worker(
    new URL(
      import.meta.url.endsWith(".ts") ? "./parser_worker.ts" : "./parser_worker.js",
      import.meta.url,
    ),
  );
  const waiting: Waiting[] = [];
  worker.on("message", (columns: Columns) => waiting.shift()?.resolve(columns));
  worker.on("error", (error) => {
    for (const { reject } of waiting.splice(0)) reject(error);
  });
  return { worker, waiting };
}
