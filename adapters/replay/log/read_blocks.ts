/*
 * A log's bytes, as they come from a file, a pipe or a decompressor, in blocks of whole lines.
 */

import { Buffer } from "node:buffer";
import { pipeline, Readable, type Transform } from "node:stream";
import * as zlib from "node:zlib";

import { errorMessage } from "../../../core/application_support.ts";

/**
 * Text in pieces of any length, such as a file's stream; or such bytes compressed by gzip or zstd. The
 * memory of a piece may be used again once the next piece is asked for.
 */
export type TextSource =
  | string
  | Iterable<string | Uint8Array>
  | AsyncIterable<string | Uint8Array>;

const NEWLINE = 10;

/** Bytes of a block, at least. */
const MIN_BLOCK_BYTES = 1 << 16;

/** Bytes of the first block, in which the form of a log is found, whatever the pieces of the log are. */
const FORM_BYTES = 1 << 18;

/** The compressed forms, by the bytes that they begin with, in hexadecimal. */
const COMPRESSED: readonly (readonly [
  name: string,
  start: string,
  open: () => Transform | undefined,
])[] = [
  ["gzip", "1f8b", () => zlib.createGunzip()],
  // Node has it since 22.15.
  ["zstd", "28b52ffd", () => (zlib as Partial<typeof zlib>).createZstdDecompress?.()],
];

/**
 * The blocks of a log: each of whole lines, but the last one, which may end anywhere.
 *
 * @param options The log's name in errors, and the longest line in bytes. A longer line is kept only
 * as far as shows that it is too long.
 * @throws {TypeError} If it is not text, or is compressed in a way that this runtime cannot read.
 */
export async function* readBlocks(
  text: TextSource,
  { name, maxLine }: { readonly name: string; readonly maxLine: number },
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const bytes of gathered(decompressed(name, bytesOf(name, text)), FORM_BYTES)) {
    // A piece that is kept must not change.
    held.push(bytes.length < MIN_BLOCK_BYTES ? new Uint8Array(bytes) : bytes);
    size += bytes.length;
    if (size < MIN_BLOCK_BYTES) continue;
    // A large piece is used as it is; only the line that it goes on with is put together.
    const goesOn = held.length > 1 && bytes.length >= MIN_BLOCK_BYTES;
    const first = goesOn ? bytes.indexOf(NEWLINE) + 1 : 0;
    if (first > 0) {
      held[held.length - 1] = bytes.subarray(0, first);
      yield Buffer.concat(held);
    }
    const whole = first > 0 ? bytes.subarray(first) : Buffer.concat(held);
    const end = whole.lastIndexOf(NEWLINE) + 1;
    // A copy, because the rest must not keep the whole block in memory.
    const rest = new Uint8Array(whole.subarray(end, end + maxLine + 1));
    if (end > 0) yield whole.subarray(0, end);
    held = [rest];
    size = rest.length;
  }
  if (size > 0) yield Buffer.concat(held);
}

async function* bytesOf(name: string, text: TextSource): AsyncGenerator<Uint8Array> {
  requireText(name, text);
  const encoder = new TextEncoder();
  // The two halves of a surrogate pair may come in two pieces.
  let half = "";
  for await (const piece of typeof text === "string" ? [text] : text) {
    if (typeof piece !== "string") {
      yield piece;
      continue;
    }
    const whole = half + piece;
    half = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? "";
    yield encoder.encode(half === "" ? whole : whole.slice(0, -1));
  }
  if (half !== "") yield encoder.encode(half);
}

function requireText(name: string, text: unknown): void {
  if (typeof text === "string") return;
  const source = (text ?? {}) as { [Symbol.iterator]?: unknown; [Symbol.asyncIterator]?: unknown };
  if (source[Symbol.iterator] !== undefined || source[Symbol.asyncIterator] !== undefined) return;
  const rule = "it must be text, or an iterable of text or bytes, such as a file's stream";
  throw new TypeError(errorMessage(`read ${name}`, rule, text));
}

async function* decompressed(
  name: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const source = gathered(pieces, 4);
  let { value: start = new Uint8Array(0) } = await source.next();
  async function* whole() {
    try {
      yield start;
      yield* source;
    } finally {
      await source.return(undefined);
    }
  }
  const bytes = Buffer.from(start).toString("hex", 0, 4);
  const [form, , open] = COMPRESSED.find(([, magic]) => bytes.startsWith(magic)) ?? [];
  if (open === undefined) {
    // A byte order mark is no part of the first line.
    if (bytes.startsWith("efbbbf")) start = start.subarray(3);
    return yield* whole();
  }
  const opened = open();
  if (opened === undefined) {
    await source.return(undefined);
    const rule = `this runtime must support ${form}, as Node does since 22.15`;
    throw new TypeError(errorMessage(`read ${name}`, rule, `${form} data`));
  }
  try {
    yield* pipeline(Readable.from(copies(whole())), opened, () => {}) as AsyncIterable<Uint8Array>;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const fault = `its ${form} data is cut off or damaged`;
    throw new Error(`Cannot read ${name} because ${fault}: ${reason}`, { cause });
  }
}

/** Pieces of which the first has so many bytes, if there are as many. */
async function* gathered(
  pieces: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncGenerator<Uint8Array, undefined> {
  const held: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    if (size >= bytes) {
      yield piece;
      continue;
    }
    held.push(new Uint8Array(piece));
    size += piece.length;
    if (size < bytes) continue;
    const start = Buffer.concat(held);
    yield start.subarray(0, bytes);
    if (size > bytes) yield start.subarray(bytes);
  }
  if (size < bytes) yield Buffer.concat(held);
}

/** Pieces for a stream, which asks for further ones before it is done with the last. */
async function* copies(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield new Uint8Array(piece);
}
