import { connect } from "node:net";

/** The status and the body of an answer; `undefined` if the connection ended without one. */
export type PipelinedAnswer = { readonly status: number; readonly body: string } | undefined;

/**
 * Asks for many targets over few connections, each sent as it is, in Latin-1. A server that ends a
 * connection after an answer is asked for the rest over another one.
 */
export async function pipelined(
  port: number,
  targets: readonly string[],
  lines: readonly string[] = [],
): Promise<PipelinedAnswer[]> {
  const answers: PipelinedAnswer[] = [];
  while (answers.length < targets.length) {
    const rest = targets.slice(answers.length, answers.length + 1_000);
    const some = await oneConnection(port, rest, lines);
    answers.push(...some);
    // Ended before the first of them was answered.
    if (some.length === 0) answers.push(undefined);
  }
  return answers;
}

/** More requests than these on one connection at once make some servers warn. */
const DEPTH = 2;

function oneConnection(
  port: number,
  targets: readonly string[],
  lines: readonly string[],
): Promise<PipelinedAnswer[]> {
  const textOf = (target: string) =>
    [`GET ${target} HTTP/1.1`, "Host: a", ...lines, "", ""].join("\r\n");
  return new Promise((resolve) => {
    const answers: PipelinedAnswer[] = [];
    let sent = 0;
    let received = "";
    const socket = connect({ port, host: "127.0.0.1" }, send);
    function send(): void {
      const more = targets.slice(sent, answers.length + DEPTH);
      sent += more.length;
      socket.write(more.map(textOf).join(""), "latin1");
    }
    socket.on("data", (chunk: Uint8Array) => {
      received += Buffer.from(chunk).toString("latin1");
      for (let answer = firstAnswer(received); answer; answer = firstAnswer(received)) {
        answers.push({ status: answer.status, body: answer.body });
        received = received.slice(answer.length);
      }
      if (answers.length === targets.length) socket.destroy();
      else if (answers.length === sent) send();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answers));
  });
}

/** The first answer of a text, with its length; `undefined` if it is not complete. */
function firstAnswer(text: string): { status: number; body: string; length: number } | undefined {
  const start = text.indexOf("\r\n\r\n") + 4;
  if (start === 3) return undefined;
  const head = text.slice(0, start);
  const status = Number(head.split(" ")[1]);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head)) {
    return chunkedAnswer(text, start, status);
  }
  const end = start + Number(length ?? 0);
  if (text.length < end) return undefined;
  const body = Buffer.from(text.slice(start, end), "latin1").toString("utf8");
  return { status, body, length: end };
}

function chunkedAnswer(text: string, start: number, status: number) {
  let body = "";
  let index = start;
  while (true) {
    const end = text.indexOf("\r\n", index);
    if (end === -1) return undefined;
    const size = parseInt(text.slice(index, end), 16);
    if (text.length < end + 2 + size + 2) return undefined;
    index = end + 2 + size + 2;
    if (size === 0) {
      return { status, body: Buffer.from(body, "latin1").toString("utf8"), length: index };
    }
    body += text.slice(end + 2, end + 2 + size);
  }
}
