/*
 * Connections to the master that sentinels name.
 *
 * A duplicate of the client that was given asks them, and follows a failover. For each connection it
 * lends a client of the master at that time, whose options are those to dial with; so a master that
 * was demoted is left as soon as it refuses a write or closes the connection. `_execute` is what the
 * client's own commands are built on; what it lends otherwise hides the options.
 */

import type { Dial } from "./connection.ts";
import { connect, copyOf, type Original, type OwnClient } from "./node_redis.ts";

/** A node-redis sentinel client; `createSentinel` returns it. */
export interface NodeRedisSentinel {
  /** Where the master is. */
  getMasterNode(): unknown;
  /** Makes another sentinel client with the same options, but for those given. */
  duplicate(overrides?: never): unknown;
}

/** A sentinel client of our own. */
interface Scout {
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  _execute(
    readOnly: boolean,
    use: (client: Original) => Promise<OwnClient>,
  ): Promise<OwnClient>;
  destroy(): Promise<void>;
}

/** Dials masters; asks the sentinels when it is first used. */
export function sentinelDial(sentinel: NodeRedisSentinel): {
  readonly dial: Dial;
  readonly close: () => void;
} {
  let scout: Scout | undefined;
  let connecting: Promise<Scout> | undefined;

  async function open(): Promise<Scout> {
    const made = (sentinel as unknown as { duplicate(): Scout }).duplicate();
    // The store learns of failures by what it sends.
    for (const event of ["error", "client-error"]) made.on(event, () => {});
    try {
      await made.connect();
      scout = made;
      return made;
    } finally {
      connecting = undefined;
    }
  }

  async function master(patience: number): Promise<OwnClient> {
    const own = scout ?? await (connecting ??= open());
    return await own._execute(false, (client) => Promise.resolve(copyOf(client, patience)));
  }

  return {
    dial: (patience) => connect(() => master(patience), patience),
    close: () => void scout?.destroy().catch(() => {}),
  };
}
