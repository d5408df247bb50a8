/*
 * A thread that reads lines: blocks in, columns out. This file is what a worker runs; it is not
 * imported.
 */

import { parentPort } from "node:worker_threads";

import type { Layout } from "./layout.ts";
import { blockParser } from "./parse_block.ts";

const parse = blockParser();
parentPort?.on("message", ({ block, layout }: { block: Uint8Array; layout: Layout }) => {
  const columns = parse(block, layout);
  const { at, client, cost, marks } = columns;
  const buffers = [at, client, cost, marks].flatMap((column) => column?.buffer ?? []);
  // The types of a parser's columns are those that TypeScript 5.4 knows, too.
  parentPort!.postMessage(columns, buffers as ArrayBuffer[]);
});
