import { connect, createServer, type Socket } from "node:net";

/** A way to a server that takes longer. */
export interface DelayingProxy {
  readonly port: number;
  readonly url: string;
  /** Milliseconds that bytes are under way, in each direction. */
  delay: number;
  /** Loses all that comes from now on, and says nothing: the connections stay open. */
  cut(): void;
  /** Lets new connections through. Connections that were cut stay silent. */
  heal(): void;
  /** Ends all connections with a reset. */
  breakAll(): void;
  stop(): Promise<void>;
}

/** Starts a proxy on a free port of 127.0.0.1, in front of a server's port. */
export async function startDelayingProxy(to: number, delay: number): Promise<DelayingProxy> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  let isCut = false;

  /** Sends on what comes from one socket to the other, in its order, a while later. */
  function pipe(from: Socket, target: Socket, isSilent: () => boolean): void {
    sockets.add(from);
    from.setNoDelay(true);
    from.on("data", (data) => {
      if (!isSilent()) setTimeout(() => isSilent() || target.write(data), proxy.delay);
    });
    from.on("error", () => {});
    from.on("close", () => {
      sockets.delete(from);
      if (!isSilent()) setTimeout(() => target.destroy(), proxy.delay);
    });
  }

  const server = createServer((client) => {
    const began = cuts;
    const isSilent = () => isCut || began !== cuts;
    const upstream = connect(to, "127.0.0.1");
    pipe(client, upstream, isSilent);
    pipe(upstream, client, isSilent);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { readonly port: number };
  const proxy: DelayingProxy = {
    port,
    url: `redis://127.0.0.1:${port}`,
    delay,
    cut() {
      cuts++;
      isCut = true;
    },
    heal() {
      isCut = false;
    },
    breakAll() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    stop() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}
