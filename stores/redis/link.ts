import type { Dial } from "./connection.ts";
import { type Commit, type NodeConnection, prepare } from "./node_connection.ts";
import type { StoreParts } from "./store_parts.ts";

/** Keeps one connection to a node. */
export interface Link {
  /** The connection, if there is one and it lives. */
  current(): NodeConnection | undefined;
  /** The connection; dials if there is none. One dial at a time, however many ask. */
  dialled(): Promise<NodeConnection>;
  /** Whether the node has ever been reached. */
  hasBeenUp(): boolean;
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
export function link(
  dial: Dial,
  commit: Commit | "auto",
  parts: StoreParts,
  past: { hasBeenUp: boolean } = { hasBeenUp: false },
): Link {
  let current: NodeConnection | undefined;
  let dialling: Promise<NodeConnection> | undefined;
  let closed = false;

  async function open(): Promise<NodeConnection> {
    const connection = await dial(parts.dialDeadline);
    try {
      const ready = await prepare(connection, commit, parts);
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
    dialled() {
      if (current?.connection.open === false) drop();
      if (current !== undefined) return Promise.resolve(current);
      dialling ??= open().finally(() => {
        dialling = undefined;
      });
      return dialling;
    },
    hasBeenUp: () => past.hasBeenUp,
    drop,
    close() {
      closed = true;
      drop();
    },
  };
}
