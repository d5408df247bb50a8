/*
 * The port that the threads of a service share: whether this runtime can share one, and whether one
 * is free.
 */

import { createSocket } from "node:dgram";
import { createServer, isIPv6 } from "node:net";
import process from "node:process";

/** Whether threads may listen on one port: on Bun, Deno, and Node 22.12 or later. */
export function sharesPort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 12);
}

/**
 * Takes a port on which no process listens. Threads share their port, so a second service on the
 * same port would share it, too. Each would count by itself, and calls would go to either of them.
 *
 * Two services that start at the same instant both see a free port. So each also binds the UDP port
 * of the same number, because only one process can bind it. The service does not use that port
 * otherwise.
 *
 * @returns A function that gives up the port.
 * @throws {Error} If the port is taken, or cannot be listened on.
 */
export async function takePort(hostname: string, port: number): Promise<() => Promise<void>> {
  const held = createSocket(isIPv6(hostname) ? "udp6" : "udp4");
  held.unref();
  const release = () => new Promise<void>((resolve) => held.close(() => resolve()));
  try {
    await new Promise<void>((resolve, reject) => {
      held.on("error", reject);
      held.bind({ port, address: hostname, exclusive: true }, () => resolve());
    });
    await requireFreePort(hostname, port);
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

function requireFreePort(hostname: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen({ host: hostname, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}
