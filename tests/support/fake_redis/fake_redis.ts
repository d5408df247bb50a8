/*
 * A Redis server in the test's own process, which speaks enough of the protocol for the store, and
 * fails as a test says. It needs no binary, and makes every failure that a real server has now
 * and then a thing that happens once, at a place of the test's choice.
 */

import { createServer, type Socket } from "node:net";

import { type Keyspace, keyspace } from "./keyspace.ts";
import { commandReader, encodeReply, type Reply } from "./resp.ts";
import { type ServerState, session } from "./session.ts";

/**
 * A fault that befalls a command, in place of carrying it out and answering it:
 *
 * | fault | carried out | answered |
 * |---|---|---|
 * | `"drop"` | no | the connection is closed |
 * | `"drop after"` | yes | the connection is closed |
 * | `"hang up"` | yes | yes, and then the connection is closed |
 * | `"silence"` | no | never, and nothing after it either |
 * | `"silence after"` | yes | never, and nothing after it either |
 * | an `Error` | no | with that error; a transaction that holds it is aborted by EXEC |
 * | a number | yes | so many milliseconds later, and all that comes after it as well |
 * | a promise | yes | once that resolves, and all that comes after it as well |
 */
export type Fault =
  | "drop"
  | "drop after"
  | "hang up"
  | "silence"
  | "silence after"
  | Error
  | number
  | Promise<void>;

/** Decides what goes wrong. */
export type Faults = (command: readonly string[]) => Fault | undefined;

/** A fake server. */
export interface FakeRedis {
  readonly port: number;
  readonly url: string;
  readonly keyspace: Keyspace;
  readonly state: ServerState;
  /** The faults of the next commands; may be set at any time. */
  faults: Faults;
  /** Every command that came, in order, except those of the handshake. */
  readonly commands: (readonly string[])[];
  /** How many connections are open. */
  connections(): number;
  /** Closes every connection. */
  dropAll(): void;
  stop(): Promise<void>;
}

/** Names of commands that a client sends on its own. */
const HANDSHAKE = new Set(["HELLO", "CLIENT", "AUTH", "SELECT", "INFO"]);

/** The time to the microsecond, as a server replies it. */
function clock(): number {
  return performance.timeOrigin + performance.now();
}

/** When what holds an answer up has ended. */
function ending(delay: number | Promise<void>): Promise<void> {
  return typeof delay === "number" ? new Promise((resolve) => setTimeout(resolve, delay)) : delay;
}

/** Starts a fake server on a free port of 127.0.0.1. */
export function startFakeRedis(
  now: () => number = clock,
  port = 0,
): Promise<FakeRedis> {
  const state: ServerState = {
    keyspace: keyspace(now),
    now,
    scripts: new Set(),
    password: undefined,
    version: "7.0.15",
    slots: undefined,
    elsewhere: () => undefined,
  };
  const sockets = new Set<Socket>();
  const commands: (readonly string[])[] = [];

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    const own = session(state);
    let silent = false;
    let late: Promise<void> | undefined;

    function reply(answer: Reply): void {
      const bytes = encodeReply(answer, own.protocol);
      if (late === undefined) socket.write(bytes);
      else late = late.then(() => void socket.write(bytes));
    }

    /** Closes the connection. Commands that were not read yet are not carried out. */
    function drop(): void {
      silent = true;
      socket.destroy();
    }

    function take(command: readonly string[]): void {
      if (silent) return;
      if (!HANDSHAKE.has(command[0]!)) commands.push(command);
      const fault = made.faults(command) ?? state.elsewhere(command);
      if (fault === "drop") return drop();
      if (fault === "silence") silent = true;
      else if (fault instanceof Error) reply(own.refuse(fault));
      else {
        const answer = own.run(command);
        if (fault === "drop after") return drop();
        if (fault === "silence after") silent = true;
        else if (fault === "hang up") {
          reply(answer);
          if (late === undefined) socket.end();
          else void late.then(() => socket.end());
        } else {
          if (fault !== undefined) late = (late ?? Promise.resolve()).then(() => ending(fault));
          reply(answer);
        }
      }
    }

    socket.on("data", commandReader(take));
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });

  const made: FakeRedis = {
    port: 0,
    url: "",
    keyspace: state.keyspace,
    state,
    faults: () => undefined,
    commands,
    connections: () => sockets.size,
    dropAll() {
      for (const socket of sockets) socket.destroy();
    },
    stop() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };

  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      const own = typeof address === "object" && address !== null ? address.port : 0;
      resolve(Object.assign(made, { port: own, url: `redis://127.0.0.1:${own}` }));
    });
  });
}
