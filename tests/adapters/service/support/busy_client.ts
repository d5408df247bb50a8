import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** The answers that a client has had so far. */
export interface Seen {
  answers: number;
  /** Answers that ended their connection. */
  ends: number;
  /** Calls that had no answer, and why. */
  readonly lost: string[];
}

/** Milliseconds between two calls of a client. */
const PAUSE = 5;

const CALL = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/**
 * A client that sends one call after the other, on a connection that it keeps, as a proxy does: it
 * leaves when it is asked to, and for another port when one takes no connection.
 */
export async function busyClient(
  ports: readonly number[],
  isOver: () => boolean,
  seen: Seen,
): Promise<void> {
  let turn = Math.floor(Math.random() * ports.length);
  while (!isOver()) {
    const socket = await dial(ports[turn % ports.length]!);
    if (socket === undefined) {
      turn++;
      continue;
    }
    let stays = true;
    while (stays && !isOver()) {
      const answer = await call(socket);
      stays = /^HTTP\/1.1 200 /.test(answer) && !/\r\nconnection: close\r\n/i.test(answer);
      if (/^HTTP\/1.1 200 /.test(answer)) seen.answers++;
      else seen.lost.push(answer);
      if (stays) await sleep(PAUSE);
    }
    if (!stays) {
      seen.ends++;
      turn++;
    }
    socket.destroy();
  }
}

function dial(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.on("error", () => resolve(undefined));
  });
}

/** The answer to a call, or what came instead of it. */
function call(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const end = (answer: string) => {
      socket.removeAllListeners();
      socket.on("error", () => {});
      resolve(answer);
    };
    socket.on("data", (data) => {
      text += String(data);
      if (text.includes("ok\n")) end(text);
    });
    socket.on("error", (error) => end(`error ${error.message}`));
    socket.on("close", () => end("closed"));
    socket.write(CALL);
  });
}
