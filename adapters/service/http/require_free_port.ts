import { createServer } from "node:net";

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
