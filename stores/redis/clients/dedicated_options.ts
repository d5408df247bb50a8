/*
 * The options of connections that the store makes by a client's options:
 *
 * | option | why |
 * |---|---|
 * | `reconnectStrategy: false` | a connection lives once: see connection.ts |
 * | `disableOfflineQueue` | nothing is kept for later |
 * | `commandOptions: { timeout: 0 }` | its timeout ends when a command is sent, and costs a signal each |
 * | no `socketTimeout` | writing puts it off, and an idle connection would be closed by it |
 * | `maintNotifications: "disabled"` | they put a new socket under a live client, where nothing is watched |
 * | no client-side cache | every value read is about to change |
 * | a longer `connectTimeout` | the store's own counts only the time in which the process ran |
 */

import { LONGEST_TIMER } from "../../../core/clock.ts";

/**
 * How many milliseconds later the timers of clients go off: theirs go by the clock, and a process that
 * was held up would take itself for a dead server.
 */
const GRACE = 2_000;

/** The options of the table above, in place of a client's own. */
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

/** The options of a socket that is opened once, and lives once. */
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

/** The time limit of a client, where the store has one of so many milliseconds. */
export function withGrace(timeout: number): number {
  return Math.min(timeout + GRACE, LONGEST_TIMER);
}
