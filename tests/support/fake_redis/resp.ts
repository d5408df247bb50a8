import { Buffer } from "node:buffer";

/** A reply of the fake server: an `Error` is an error reply, `undefined` and `null` are no value. */
export type Reply = string | number | null | undefined | Error | readonly Reply[] | ReplyMap;

/** A reply of pairs: a map in RESP 3, a flat array in RESP 2. */
export interface ReplyMap {
  readonly pairs: readonly (readonly [string, Reply])[];
}

/** Reads commands out of a stream of bytes. */
export function commandReader(take: (command: string[]) => void): (data: Uint8Array) => void {
  // One character for each byte, so that lengths in bytes are lengths in characters.
  let buffer = "";

  function line(at: number): readonly [text: string, next: number] | undefined {
    const end = buffer.indexOf("\r\n", at);
    return end === -1 ? undefined : [buffer.slice(at, end), end + 2];
  }

  function readOne(): readonly [command: string[], next: number] | undefined {
    const header = line(0);
    if (header === undefined) return undefined;
    let at = header[1];
    if (!header[0].startsWith("*")) return [header[0].split(" "), at];
    const command: string[] = [];
    for (let count = Number(header[0].slice(1)); count > 0; count--) {
      const length = line(at);
      if (length === undefined) return undefined;
      const end = length[1] + Number(length[0].slice(1));
      if (buffer.length < end + 2) return undefined;
      command.push(Buffer.from(buffer.slice(length[1], end), "latin1").toString());
      at = end + 2;
    }
    return [command, at];
  }

  return (data) => {
    buffer += Buffer.from(data).toString("latin1");
    for (let read = readOne(); read !== undefined; read = readOne()) {
      buffer = buffer.slice(read[1]);
      take(read[0]);
    }
  };
}

/** A reply as bytes on the wire. */
export function encodeReply(reply: Reply, protocol: 2 | 3): string {
  if (reply === null || reply === undefined) return protocol === 3 ? "_\r\n" : "$-1\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") {
    if (/^[A-Z]+$/.test(reply)) return `+${reply}\r\n`;
    return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  }
  if (reply instanceof Error) return `-${reply.message}\r\n`;
  if ("pairs" in reply) {
    const body = reply.pairs.map((pair) => pair.map((one) => encodeReply(one, protocol)).join(""));
    const header = protocol === 3 ? `%${body.length}` : `*${2 * body.length}`;
    return `${header}\r\n${body.join("")}`;
  }
  return `*${reply.length}\r\n${reply.map((one) => encodeReply(one, protocol)).join("")}`;
}
