import type { Decision } from "../../core/decision.ts";
import type { Operation } from "../../core/store.ts";
import type { Cell } from "./cell.ts";

/** What one call asks of the store: operations to run all or nothing, or a key to forget. */
export interface Job {
  /** None if a key is to be forgotten. */
  readonly operations: readonly Operation[];
  /** Every stored key that is read or written. */
  readonly keys: readonly string[];
  /** The hash slot of all keys; 0 on a single server. */
  readonly slot: number;
  /** The instant to decide at; `undefined` for the store's time. */
  readonly at: number | undefined;
  /** When it came, by `performance.now`. */
  readonly born: number;
  /** How often it has been tried in vain. */
  tries: number;
  /** How often a node of a cluster has sent it elsewhere. */
  redirects: number;
  /** Whether its slot is being moved to the node that it waits for. */
  asking: boolean;
  /** Whether it shares a batch only with calls on its very keys, as its slot is in two places. */
  alone: boolean;
  /** Whether a value was found that only a watched transaction replaces safely. */
  watched: boolean;
  /** The cell of the first key, in the batch that it is in. */
  cell: Cell | undefined;
  /** What the caller is told once the batch is committed; none before it was stepped. */
  decisions: readonly Decision[];
  /** Tells the caller. */
  readonly settle: (decisions: readonly Decision[]) => void;
  /** Tells the caller that it could not be done. */
  readonly fail: (error: Error) => void;
}
