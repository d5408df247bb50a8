/*
 * The store opens connections of its own with the options of the caller's client, except for these:
 *
 * | option | why |
 * |---|---|
 * | `reconnectStrategy: false` | a connection never reconnects: see connection.ts |
 * | `disableOfflineQueue` | no command waits for a later connection |
 * | `commandOptions: { timeout: 0 }` | the client's timeout ends once a command is sent, and costs a signal for each |
 * | no `socketTimeout` | each write would postpone it, and it would close idle connections |
 * | `maintNotifications: "disabled"` | they would give a live client a new socket, on which nothing is watched |
 * | no client-side cache | every value that is read is about to change |
 * | a longer `connectTimeout` | the store has its own, which counts only time in which the process ran |
 */

import { LONGEST_TIMER } from "../../../core/clock.ts";

/**
 * Milliseconds by which a client's time limit exceeds the store's. A client reads only the clock, so
 * after a pause of the process it would think that the server is dead.
 */
const GRACE = 2_000;

/** The options of the table above. */
export function dedicatedOptions(socket: object | undefined, timeout: number): object {
  return {
    socket: onceOnly(socket, timeout, undefined),
    commandOptions: { timeout: 0 },
    commandsQueueMaxLength: undefined,
    disableOfflineQueue: true,
    maintNotifications: "disabled",
    clientSideCache: undefined,
    emitInvalidate: false,
    pingInterval: undefined,
    readonly: false,
  };
}

/** The options of a socket that never reconnects. */
export function onceOnly(
  socket: object | undefined,
  connectTimeout: number,
  socketTimeout: number | undefined,
): object {
  return {
    ...socket,
    reconnectStrategy: false,
    connectTimeout: withGrace(connectTimeout),
    socketTimeout: socketTimeout === undefined ? undefined : withGrace(socketTimeout),
  };
}

/** The client's time limit that goes with a time limit of the store. */
export function withGrace(timeout: number): number {
  return Math.min(timeout + GRACE, LONGEST_TIMER);
}
