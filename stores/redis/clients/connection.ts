/*
 * All that the store needs of a client library.
 *
 * A connection never reconnects. When it is lost, all its commands are rejected, and another
 * connection is dialled. An optimistic transaction has no other protection. A library that reconnects
 * by itself may run MULTI ... EXEC on a new connection on which nothing is watched, and lose an update
 * (node-redis 6 does, between the loss of a socket and the next one).
 */

/** A command and its arguments. */
export type Command = readonly string[];

/** A connection that nobody else sends commands on. */
export interface Connection {
  /** Whether it is still open. */
  readonly open: boolean;
  /** Whether commands may go to different servers or sockets, so that it cannot watch keys. */
  readonly isShared?: boolean;
  /**
   * Sends commands in one write. Resolves to their replies, in order; an error that the server
   * replied is an `Error` among them. Rejects if the connection is lost before the last reply.
   */
  send(commands: readonly Command[]): Promise<readonly unknown[]>;
  /** Ends it at once, and rejects every command that still waits for a reply. */
  destroy(): void;
}

/**
 * Makes a connection.
 *
 * @param timeout The most milliseconds that it may take.
 */
export type Dial = (timeout: number) => Promise<Connection>;

/** How to dial the nodes of a cluster. */
export interface ClusterDials {
  /** How to dial the nodes that the cluster's options name. */
  readonly roots: readonly Dial[];
  /** Dials the node at an address (host and port) that another node has named. */
  readonly nodeAt: (address: string) => Dial;
}
