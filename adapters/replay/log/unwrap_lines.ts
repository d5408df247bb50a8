/*
 * Logs within logs. Docker's json-file driver writes each line of a container as an object, whose
 * member `log` is the line. Syslog and journald put a date, a host and a program before it.
 */

import { Buffer } from "node:buffer";

/** The first line of Docker's; its members come in this order. */
const DOCKER =
  /^\{"log":"(?:[^"\\]|\\.)*","stream":"(?:stdout|stderr)".*"time":"[^"]+"\}\r?(?:\n|$)/;

/** The beginning of a line of syslog: with a date, or with the number of a process. */
const SYSLOG = new RegExp(
  "^(?:<\\d+>)?(?:" +
    "(?:[A-Z][a-z]{2} [ \\d]\\d [\\d:]{8}(?: \\S+)?|\\d{4}-\\d\\d-\\d\\dT\\S+ \\S+) " +
    "[\\w./-]+(?:\\[\\d+\\])?|[\\w./-]+\\[\\d+\\]): ",
  "gm",
);

/**
 * The blocks of a log as the program wrote it, if another one recorded it; otherwise the blocks.
 *
 * @param maxLine The longest line in bytes; a longer one may be broken.
 */
export async function* unwrapLines(
  blocks: AsyncIterable<Uint8Array>,
  maxLine: number,
): AsyncGenerator<Uint8Array> {
  let unwrap: ((block: Buffer) => Uint8Array) | undefined;
  let held: Uint8Array = new Uint8Array(0);
  for await (const block of blocks) {
    const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
    unwrap ??= unwrapperOf(bytes.toString("latin1"));
    const own = unwrap(bytes);
    if (own === bytes) {
      yield bytes;
      continue;
    }
    // A line that Docker divided may go on in the next block.
    const whole = Buffer.concat([held, own]);
    const last = whole.lastIndexOf("\n") + 1;
    const end = whole.length - last > maxLine ? whole.length : last;
    held = whole.subarray(end);
    if (end > 0) yield whole.subarray(0, end);
  }
  if (held.length > 0) yield held;
}

/** The function that unwraps the blocks of a log that begins like this. */
function unwrapperOf(start: string): (block: Buffer) => Uint8Array {
  if (DOCKER.test(start)) return (block) => Buffer.from(dockerLines(block));
  if (start.search(SYSLOG) === -1) return (block) => block;
  return (block) => Buffer.from(block.toString("latin1").replace(SYSLOG, ""), "latin1");
}

function dockerLines(block: Buffer): string {
  return block.toString("utf8").split("\n").map(lineOf).join("");
}

/** A line of the program. Docker divides a long line, and only its end has a newline. */
function lineOf(text: string): string {
  try {
    const { log } = JSON.parse(text);
    if (typeof log === "string") return log;
  } catch { /* It is no object of Docker's. */ }
  return text === "" ? "" : `${text}\n`;
}
