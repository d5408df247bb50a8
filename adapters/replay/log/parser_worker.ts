/*
 * A thread that reads lines: blocks in, columns out. This file is what a worker runs; it is not
 * imported.
 */

import { parentPort } from "node:worker_threads";

import type { Layout } from "./layout.ts";
import { type BlockParser, blockParser } from "./parse_block.ts";

if (parentPort !== null) parseOn(parentPort);

function parseOn(port: NonNullable<typeof parentPort>): void {
  let known = "";
  let parse: BlockParser;
  port.on("message", ({ block, layout }: { block: Uint8Array; layout: Layout }) => {
    const text = JSON.stringify(layout);
    if (text !== known) parse = blockParser(layout);
    known = text;
    const columns = parse(block);
    const { at, client, cost } = columns;
    const buffers = [at.buffer, client.buffer, ...(cost === undefined ? [] : [cost.buffer])];
    // The types of a parser's columns are those that TypeScript 5.4 knows, too.
    port.postMessage(columns, buffers as ArrayBuffer[]);
  });
}
