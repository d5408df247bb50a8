import { createServer, type Socket } from "node:net";

/** A server that takes connections, and answers nothing. */
export interface Listener {
  readonly port: number;
  readonly url: string;
  /** The connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
  /** All that came. */
  received(): string;
}

/** Runs a test on such a server of 127.0.0.1, and stops it. */
export async function withListener(
  run: (listener: Listener) => Promise<void>,
  meet: (socket: Socket) => void = () => {},
): Promise<void> {
  const sockets = new Set<Socket>();
  let received = "";
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("data", (data) => received += String(data));
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    meet(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { readonly port: number };
  try {
    await run({ port, url: `redis://127.0.0.1:${port}`, sockets, received: () => received });
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}
