import { createServer } from "node:net";

/** Ports that were given out: the system may name one again while nobody listens on it. */
const given = new Set<number>();

/** A port of 127.0.0.1 that nobody listens on, and that no other call in this process was given. */
export async function freePort(): Promise<number> {
  const port = await portOfSystem();
  if (given.has(port)) return await freePort();
  given.add(port);
  return port;
}

function portOfSystem(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
