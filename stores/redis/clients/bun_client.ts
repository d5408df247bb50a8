/*
 * Connects through Bun's `RedisClient`. It reconnects by itself, but the store needs connections
 * that never do (see connection.ts).
 */

import type { Command, Dial } from "./connection.ts";
import { connect, type DedicatedClient } from "./dedicated_connection.ts";

/** Bun's `RedisClient`. */
export interface BunRedisClient {
  /** Whether it is connected. */
  readonly connected: boolean;
  /** Sends a command by its name. */
  send(command: never, rest: never): unknown;
  /** Makes another client with the same options. */
  duplicate(): unknown;
}

/** The members that we use of the result of `duplicate`. */
interface Duplicate {
  readonly connected: boolean;
  onconnect: (() => void) | null;
  onclose: ((error: Error) => void) | null;
  connect(): Promise<unknown>;
  send(command: string, rest: readonly string[]): Promise<unknown>;
  close(): void;
}

/** Dials with the options of Bun's client: each connection is a duplicate of it. */
export function dialBunClient(client: BunRedisClient): Dial {
  const make = async () => dedicatedClient(await client.duplicate() as Duplicate);
  return (timeout) => connect(make, timeout);
}

function dedicatedClient(client: Duplicate): DedicatedClient {
  let isLost = false;
  // After a reconnect, the transaction would continue without the keys that it watches.
  client.onclose = () => {
    isLost = true;
    client.close();
  };
  return {
    get isReady() {
      return client.connected && !isLost;
    },
    on(event, listener) {
      if (event === "connect") client.onconnect = listener;
    },
    connect: () => client.connect(),
    sendCommand: ([name = "", ...rest]: Command) => client.send(name, rest),
    destroy: () => client.close(),
  };
}
