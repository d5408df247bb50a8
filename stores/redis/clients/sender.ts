/*
 * Lets the store run on any transport that sends commands, such as Redis over HTTP. A sender may
 * use many connections, so it cannot watch keys: the store must commit by script.
 */

import type { Command, Dial } from "./connection.ts";

/**
 * Anything that sends commands and returns their replies in order: over HTTP, or with a client that
 * this package does not know. It must not send a command twice.
 */
export interface RedisSender {
  /**
   * Sends commands, and resolves to their replies in order. If the server replies with an error, the
   * reply is an `Error` with the server's words. Rejects if there are no replies.
   */
  send(commands: readonly (readonly string[])[]): Promise<readonly unknown[]>;
}

/** Turns a sender into a connection that never closes. */
export function dialSender(sender: RedisSender): Dial {
  async function send(commands: readonly Command[]): Promise<readonly unknown[]> {
    const replies = await sender.send(commands);
    if (Array.isArray(replies) && replies.length === commands.length) return replies;
    throw new Error(`The sender must return one reply for each of ${commands.length} commands`);
  }
  return () => Promise.resolve({ open: true, isShared: true, send, destroy() {} });
}
