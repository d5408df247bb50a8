/*
 * Logs within logs: Docker's json-file driver writes each line of a container as an object, whose
 * member `log` is the line.
 */

import { Buffer } from "node:buffer";

/** The first line of such a log; its members come in this order. */
const DOCKER =
  /^\{"log":"(?:[^"\\]|\\.)*","stream":"(?:stdout|stderr)".*"time":"[^"]+"\}\r?(?:\n|$)/;

/** The blocks of a log as the program wrote it, if Docker recorded it; otherwise the blocks. */
export async function* unwrapLines(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let isDocker: boolean | undefined;
  for await (const block of blocks) {
    isDocker ??= DOCKER.test(
      Buffer.from(block.buffer, block.byteOffset, block.length).toString("latin1"),
    );
    yield isDocker ? unwrapped(block) : block;
  }
}

function unwrapped(block: Uint8Array): Uint8Array {
  const lines = new TextDecoder().decode(block).split("\n");
  return Buffer.from(lines.map(lineOf).join(""));
}

/** A line of the program. Docker divides a long line, and only its end has a newline. */
function lineOf(text: string): string {
  try {
    const { log } = JSON.parse(text);
    return String(log);
  } catch {
    return text === "" ? "" : `${text}\n`;
  }
}
