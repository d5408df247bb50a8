import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";

import { startHttpServer } from "../../../../adapters/service/http/http_server.ts";
import type { IncomingCall } from "../../../../adapters/service/http/incoming_call.ts";
import { runtime } from "../../../support/runtime.ts";
import { until } from "../support/running.ts";

const isBun = runtime() === "bun";
/** Bun counts whole seconds, and never looks more than every four. */
const timeouts = { headers: 300, body: 1_000, idle: isBun ? 20_000 : 60_000 };

/** Runs a server that answers how long bodies are, as long as the work takes. */
async function withServer(
  work: (port: number) => Promise<void>,
  options: { readonly maxConnections?: number } = {},
): Promise<void> {
  const handler = async (call: IncomingCall) => {
    const body = await call.body(100).catch(() => "broken off");
    return { status: 200, headers: {}, body: String(body.length) };
  };
  const server = await startHttpServer({
    hostname: "127.0.0.1",
    port: 0,
    reusePort: false,
    maxConnections: 100,
    timeouts,
    handler,
    ...options,
  });
  try {
    await work(server.port);
  } finally {
    await server.stop(0);
  }
}

/** A connection: the text that it has received, and its end by the server. */
function connection(port: number): { socket: Socket; read(): string; ended: Promise<void> } {
  const socket = connect({ port, host: "127.0.0.1" });
  let received = "";
  socket.on("data", (chunk: Uint8Array) => received += new TextDecoder().decode(chunk));
  socket.on("error", () => {});
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  return { socket, read: () => received, ended };
}

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));
const HEAD = "POST / HTTP/1.1\r\nHost: a\r\n";

test("a server waits for no client forever", () =>
  withServer(async (port) => {
    const slow = [
      "",
      HEAD,
      `${HEAD}X-A: `,
      `${HEAD}Content-Length: 50\r\n\r\n`,
      `${HEAD}Content-Length: 50\r\n\r\na`,
      `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\na`,
    ];
    const drips: ReturnType<typeof setInterval>[] = [];
    await Promise.all(slow.flatMap((text) =>
      ["", "a"].map(async (drip) => {
        // Nothing at all, but one byte after the other, is the same as the second form.
        if (text === "" && drip !== "") return;
        const { socket, ended } = connection(port);
        socket.write(text);
        if (drip !== "") drips.push(setInterval(() => socket.write(drip), 200));
        await ended;
      })
    ));
    drips.forEach(clearInterval);
  }));

test("a connection is kept for the next request, even if the last one's body was slow", () =>
  withServer(async (port) => {
    const { socket, read, ended } = connection(port);
    const post = async (length: number) => {
      socket.write(`${HEAD}Content-Length: ${length}\r\n\r\n`);
      await pause(50);
      socket.write("a".repeat(length));
      await until(() => read().endsWith(`\r\n\r\n${length}`));
    };
    await post(3);
    // Longer than a body may take.
    await pause(isBun ? 6_000 : 1_500);
    await post(4);
    socket.destroy();
    await ended;
  }));

/** Bun's server knows no such limit. */
const testElsewhere = isBun ? () => {} : test;

testElsewhere(
  "connections above the limit are ended as they come, those below it are served",
  () =>
    withServer(async (port) => {
      const held = Array.from({ length: 3 }, () => connection(port));
      await Promise.all(
        held.map(({ socket }) => new Promise((done) => socket.once("connect", done))),
      );
      await pause(50);
      await connection(port).ended;
      const [first] = held;
      first!.socket.write(`${HEAD}Content-Length: 1\r\nConnection: close\r\n\r\na`);
      await first!.ended;
      assert.match(first!.read(), /^HTTP\/1.1 200 /);
      for (const { socket } of held) socket.destroy();
    }, { maxConnections: 3 }),
);
