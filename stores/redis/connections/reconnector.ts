import type { Dial } from "../clients/connection.ts";
import { type Commit, type NodeConnection, prepareConnection } from "./node_connection.ts";
import type { StoreContext } from "../store_context.ts";

/** Keeps one connection to a node. */
export interface Reconnector {
  /** The connection, if there is one and it lives. */
  current(): NodeConnection | undefined;
  /** The connection; dials if there is none. One dial at a time, however many ask. */
  connect(): Promise<NodeConnection>;
  /** Whether the node has ever been reached. */
  hasConnected(): boolean;
  /** Ends the connection; the next call dials another. */
  drop(): void;
  /** Ends the connection, and any that is being dialled. */
  close(): void;
}

/**
 * Makes the link to a node; it dials when it is first used.
 *
 * @param past Whether the node has ever been reached: one for all links to it.
 */
export function reconnector(
  dial: Dial,
  commit: Commit | "auto",
  parts: StoreContext,
  past: { hasBeenUp: boolean } = { hasBeenUp: false },
): Reconnector {
  let current: NodeConnection | undefined;
  let dialling: Promise<NodeConnection> | undefined;
  let closed = false;

  async function open(): Promise<NodeConnection> {
    const connection = await dial(parts.dialDeadline);
    try {
      const ready = await prepareConnection(connection, commit, parts);
      if (closed) throw new Error("The store was closed");
      parts.counters.connections++;
      past.hasBeenUp = true;
      current = ready;
      return ready;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  function drop(): void {
    current?.connection.destroy();
    current = undefined;
  }

  return {
    current: () => current?.connection.open === true ? current : undefined,
    connect() {
      if (current?.connection.open === false) drop();
      if (current !== undefined) return Promise.resolve(current);
      dialling ??= open().finally(() => {
        dialling = undefined;
      });
      return dialling;
    },
    hasConnected: () => past.hasBeenUp,
    drop,
    close() {
      closed = true;
      drop();
    },
  };
}
