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
 */

/** The options of the table above, in place of a client's own. */
export function ownOptions(socket: object | undefined, timeout: number): object {
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
  return { ...socket, reconnectStrategy: false, connectTimeout, socketTimeout };
}
