/*
 * A log's bytes, as they come from a file, a pipe or a decompressor, in blocks of whole lines.
 */

import { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
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

/** A stream that decompresses, and counts the bytes that it has taken. */
type Decompressor = Transform & { readonly bytesWritten: number };

/** The compressed forms, by the bytes that they begin with, in hexadecimal. */
const COMPRESSED: readonly (readonly [
  name: string,
  start: string,
  open: () => Decompressor | undefined,
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
 * @param count Counts the bytes of the log.
 * @throws {TypeError} If it is not text, or is compressed in a way that this runtime cannot read.
 */
export async function* readBlocks(
  text: TextSource,
  { name, maxLine }: { readonly name: string; readonly maxLine: number },
  count: { bytes: number },
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let size = 0;
  let isFirst = true;
  for await (const piece of gathered(decompressed(name, bytesOf(name, text)), FORM_BYTES)) {
    // A byte order mark is no part of the first line.
    const bytes = count.bytes === 0 && startsWith(piece, "efbbbf") ? piece.subarray(3) : piece;
    count.bytes += piece.length;
    // A piece that is kept must not change.
    held.push(bytes.length < MIN_BLOCK_BYTES ? new Uint8Array(bytes) : bytes);
    size += bytes.length;
    if (size < MIN_BLOCK_BYTES) continue;
    // A large piece is used as it is; only the line that it goes on with is put together.
    const goesOn = !isFirst && held.length > 1 && bytes.length >= MIN_BLOCK_BYTES;
    const first = goesOn ? bytes.indexOf(NEWLINE) + 1 : 0;
    if (first > 0) {
      held[held.length - 1] = bytes.subarray(0, first);
      yield Buffer.concat(held);
    }
    const whole = first > 0 ? bytes.subarray(first) : Buffer.concat(held);
    const end = whole.lastIndexOf(NEWLINE) + 1;
    // A copy, because the rest must not keep the whole block in memory.
    const rest = new Uint8Array(whole.subarray(end, end + maxLine + 1));
    if (end > 0) {
      yield whole.subarray(0, end);
      isFirst = false;
    }
    held = [rest];
    size = rest.length;
  }
  if (size > 0) yield Buffer.concat(held);
}

/** Whether bytes begin with others, in hexadecimal. */
function startsWith(bytes: Uint8Array, start: string): boolean {
  return Buffer.from(bytes.subarray(0, 4)).toString("hex").startsWith(start);
}

async function* bytesOf(name: string, text: TextSource): AsyncGenerator<Uint8Array> {
  requireText(name, text);
  const encoder = new TextEncoder();
  // The two halves of a surrogate pair may come in two pieces.
  let half = "";
  for await (const piece of typeof text === "string" ? [text] : text) {
    if (typeof piece !== "string") {
      requireBytes(name, piece);
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

/** Requires a piece of bytes, which may come from another realm. */
function requireBytes(name: string, piece: unknown): void {
  if (Object.prototype.toString.call(piece) === "[object Uint8Array]") return;
  throw new TypeError(errorMessage(`read ${name}`, "its pieces must be text or Uint8Array", piece));
}

async function* decompressed(
  name: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const source = gathered(pieces, 4);
  const { value: start = new Uint8Array(0) } = await source.next();
  async function* whole() {
    try {
      yield start;
      yield* source;
    } finally {
      await source.return(undefined);
    }
  }
  const [form, , open] = COMPRESSED.find(([, magic]) => startsWith(start, magic)) ?? [];
  if (open === undefined) return yield* whole();
  const rest: Rest = { pieces: whole(), left: undefined };
  do {
    const stream = open();
    if (stream === undefined) {
      await source.return(undefined).catch(() => {});
      const rule = `this runtime must support ${form}, as Node does since 22.15`;
      throw new TypeError(errorMessage(`read ${name}`, rule, `${form} data`));
    }
    yield* throughStream(rest, stream, (cause) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const fault = `its ${form} data is cut off or damaged`;
      return new Error(`Cannot read ${name} because ${fault}: ${reason}`, { cause });
    });
    // A stream of gzip reads all members by itself: whatever it leaves is padding.
  } while (rest.left !== undefined && form === "zstd");
  await rest.pieces.return(undefined);
}

/** Pieces that are still to be decompressed, after what a stream has left of the last one. */
interface Rest {
  readonly pieces: AsyncGenerator<Uint8Array>;
  left: Uint8Array | undefined;
}

/**
 * Pieces as a stream decompresses them, until the end of its data.
 *
 * @param faultOf Makes the error of damaged data.
 */
async function* throughStream(
  rest: Rest,
  stream: Decompressor,
  faultOf: (cause: unknown) => Error,
): AsyncGenerator<Uint8Array> {
  let broken: { readonly error: unknown } | undefined;
  let done: (value?: unknown) => void = () => {};
  // A stream that fails calls back nothing.
  stream.once("close", () => done());

  /** Writes a piece; returns what the stream leaves of it, if that is a part. */
  async function write(piece: Uint8Array): Promise<Uint8Array | undefined> {
    const before = stream.bytesWritten;
    await new Promise((resolve) => {
      done = resolve;
      stream.write(piece, resolve);
    });
    const taken = stream.bytesWritten - before;
    return taken > 0 && taken < piece.length ? piece.subarray(taken) : undefined;
  }

  async function writeAll(): Promise<void> {
    let piece = rest.left ?? (await rest.pieces.next()).value as Uint8Array | undefined;
    for (; piece !== undefined; piece = (await rest.pieces.next()).value) {
      rest.left = await write(piece);
      if (stream.destroyed) return void await rest.pieces.return(undefined);
      if (rest.left !== undefined) return;
    }
    stream.end();
  }

  const writing = writeAll().catch((error) => {
    broken = { error };
    stream.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  try {
    yield* stream as AsyncIterable<Uint8Array>;
    await writing;
  } catch (cause) {
    throw broken === undefined ? faultOf(cause) : broken.error;
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
