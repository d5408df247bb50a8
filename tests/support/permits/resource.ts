/*
 * The resource that permits protect: a server that counts who is in. Holders enter when they have a
 * permit, and leave before they release it. A killed holder leaves when the kernel ends its
 * connection.
 */

import { connect, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";

/** The server, and its counts of holders. */
export interface Resource {
  readonly port: number;
  /** The most that were in at once. */
  readonly most: number;
  /** How often one went in. */
  readonly entries: number;
  /** Resolves when that many holders have gone in. */
  seen(entries: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the resource on a free port.
 *
 * @param gather The first ones stay in until so many are, so that many are in at once for certain.
 */
export async function openResource(gather: number): Promise<Resource> {
  let inside = 0;
  let most = 0;
  let entries = 0;
  const wake = new Set<() => void>();
  let gathered: Socket[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let own = 0;
    const lines = createInterface({ input: socket });
    // The end of a killed process's connection is an error, of the lines as well.
    for (const source of [socket, lines]) source.on("error", () => {});
    lines.on("line", (line) => {
      const change = line === "enter" ? 1 : -1;
      own += change;
      inside += change;
      most = Math.max(most, inside);
      if (change > 0) entries++;
      wake.forEach((look) => look());
      if (change < 0 || most === gather && gathered.length === 0) {
        socket.write("done\n");
        return;
      }
      gathered.push(socket);
      if (most < gather) return;
      for (const one of gathered) one.write("done\n");
      gathered = [];
    });
    socket.on("close", () => {
      inside -= own;
      sockets.delete(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    get most() {
      return most;
    },
    get entries() {
      return entries;
    },
    seen: (wanted) =>
      new Promise((resolve) => {
        function look(): void {
          if (entries < wanted) return;
          wake.delete(look);
          resolve();
        }
        wake.add(look);
        look();
      }),
    close() {
      sockets.forEach((socket) => socket.destroy());
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** A way in and out. */
export interface Entrance {
  enter(): Promise<void>;
  leave(): Promise<void>;
  close(): void;
}

/** Connects to the resource. */
export async function enterBy(port: number): Promise<Entrance> {
  const socket = connect(port, "127.0.0.1");
  const waiting: (() => void)[] = [];
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  createInterface({ input: socket }).on("line", () => waiting.shift()!());
  const say = (line: string) =>
    new Promise<void>((resolve) => {
      waiting.push(resolve);
      socket.write(`${line}\n`);
    });
  return { enter: () => say("enter"), leave: () => say("leave"), close: () => socket.destroy() };
}
