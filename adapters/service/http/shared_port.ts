/*
 * The port that the threads of a service share: whether this runtime can share one, and whether one
 * is free.
 */

import { createServer } from "node:net";
import process from "node:process";

/** Whether threads may listen on one port: on Bun, Deno, and Node 22.12 or later. */
export function sharesPort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 12);
}

/**
 * Requires a port that nobody listens on. Threads share theirs, and so would another service that is
 * started on it: each would count by itself, and calls would go now to the one, now to the other.
 *
 * @throws {Error} If the port is taken, or cannot be listened on.
 */
export function requireFreePort(hostname: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen({ host: hostname, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}
