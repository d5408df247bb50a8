import { connect } from "node:net";

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** The header lines, in order, as they were sent. */
  readonly lines: readonly string[];
  /** The lines of one field, by its name in any case. */
  readonly values: (name: string) => readonly string[];
  /** The body, with chunks put together. */
  readonly body: string;
}

/** The request to send; by default a GET of `/`. */
export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  /** Header lines. */
  readonly lines?: readonly string[];
  readonly body?: string;
  /** The field Host; by default the address; `null` leaves it out. */
  readonly host?: string | null;
  /** The version of HTTP; by default 1.1. */
  readonly version?: "1.0" | "1.1";
}

/** Sends one request to a port of this machine over a socket of its own, and reads the answer. */
export function rawRequest(port: number, request: RawRequest = {}): Promise<RawAnswer> {
  const { method = "GET", path = "/", lines = [], body = "" } = request;
  const { host = `127.0.0.1:${port}`, version = "1.1" } = request;
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const head = [
    `${method} ${path} HTTP/${version}`,
    ...(host === null ? [] : [`Host: ${host}`]),
    "Connection: close",
    ...length,
    ...lines,
  ];
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    const socket = connect({ port, host: "127.0.0.1" }, () => {
      socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
    });
    socket.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => {
      try {
        resolve(readAnswer(Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    });
  });
}

/**
 * Sends text as it is, and reads the status of the first answer; `undefined` if the connection ends
 * without one. It waits neither for the answer's body nor for the connection's end.
 */
export function statusOf(port: number, text: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect({ port, host: "127.0.0.1" }, () => socket.write(text));
    socket.on("data", (chunk: Uint8Array) => {
      received += new TextDecoder().decode(chunk);
      const status = /^(?:HTTP\/1\.1 100[^]*?\r\n\r\n)?HTTP\/1\.[01] (?!100)(\d+)/.exec(received)
        ?.[1];
      if (status === undefined) return;
      socket.destroy();
      resolve(Number(status));
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(undefined));
  });
}

function readAnswer(bytes: Buffer): RawAnswer {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) throw new Error(`Cannot read the answer: it is ${JSON.stringify(String(bytes))}`);
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const values = (name: string) =>
    lines.flatMap((line) => {
      const colon = line.indexOf(":");
      const same = line.slice(0, colon).toLowerCase() === name.toLowerCase();
      return same ? [line.slice(colon + 1).trim()] : [];
    });
  const rest = bytes.subarray(end + 4);
  const chunked = values("transfer-encoding").includes("chunked");
  const body = chunked ? joinChunks(rest) : rest;
  return { status: Number(first.split(" ")[1]), lines, values, body: body.toString("utf8") };
}

function joinChunks(bytes: Buffer): Buffer {
  const chunks: Buffer[] = [];
  let index = 0;
  while (true) {
    const end = bytes.indexOf("\r\n", index);
    const size = parseInt(bytes.subarray(index, end).toString("latin1"), 16);
    if (!(size > 0)) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
    index = end + 2 + size + 2;
  }
}
