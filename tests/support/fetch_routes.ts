/*
 * Routes of test apps that are alike on all servers in the style of fetch.
 */
import type { AppHooks } from "./adapter_subject.ts";

/** A websocket of Bun. */
interface BunSocket {
  send(message: string): void;
}

/** The handlers that Bun.serve calls for its websockets. */
export const echo: {
  readonly websocket: { message(socket: BunSocket, message: string): void };
} = {
  websocket: {
    message: (socket, message) => socket.send(message),
  },
};

/** Accepts a websocket on this runtime, and echoes its messages. */
export function upgrade(request: Request, info: unknown): Response | undefined {
  const { Deno } = globalThis as {
    Deno?: { upgradeWebSocket(request: Request): { response: Response; socket: WebSocket } };
  };
  if (Deno === undefined) {
    const server = info as { upgrade(request: Request): boolean };
    return server.upgrade(request) ? undefined : new Response(null, { status: 400 });
  }
  const { response, socket } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
}

/** The route `/slow`. */
export function slowResponse({ signal }: Request, slow: AppHooks["slow"]): Promise<Response> {
  return new Promise((resolve, reject) => {
    slow(
      (gone) => signal.addEventListener("abort", gone),
      (fails) => fails ? reject(new Error("gone")) : resolve(new Response("late")),
    );
  });
}
