/*
 * `block` and `unblock` of a limiter: they check their arguments and report to audit logs.
 */

import type { Decision } from "../decision.ts";
import { failureReport, guarded } from "../guarded.ts";
import { andThen, type MaybePromise } from "../maybe_promise.ts";
import { checkOptions, checkText } from "../options/checks.ts";
import { type Period, readPeriod } from "../options/period.ts";
import { readReason } from "../options/read_reason.ts";
import type { Verb } from "../store.ts";
import { block, unblock } from "../verbs/block.ts";

/** The options of `block`. */
export interface BlockOptions {
  /** Why, for `onBlock`: text of 1 to 200 characters. It is not stored. */
  readonly reason?: string | undefined;
}

/** A block as `onBlock` receives it, together with the key and the decision after the block. */
export interface BlockNote {
  /** The requested milliseconds of the block; 0 for an `unblock`. */
  readonly duration: number;
  /** The reason that was given. */
  readonly reason: string | undefined;
}

/** The callbacks of a limiter that are called for blocks. */
interface BlockCallbacks {
  readonly onBlock?: ((decision: Decision, key: string, note: BlockNote) => void) | undefined;
  readonly onFailure?: ((error: unknown, key: string) => void) | undefined;
}

type Call = (verb: Verb<number, Decision>, key: string, argument: number) => MaybePromise<Decision>;

/** The blocks of a limiter whose store may answer at once or by promises. */
export interface BlockDesk {
  /** The limiter's `block`. */
  block(key: string, duration: Period, options?: BlockOptions): MaybePromise<Decision>;
  /** The limiter's `unblock`. */
  unblock(key: string): MaybePromise<Decision>;
}

/** Opens the blocks of a limiter that runs verbs by `call`. */
export type OpenBlocks = (call: Call, callbacks: BlockCallbacks) => BlockDesk;

/** The methods `block` and `unblock` of a limiter that runs verbs by `call`. */
export function openBlocks(call: Call, { onBlock, onFailure }: BlockCallbacks): BlockDesk {
  const report = failureReport(onFailure);
  const tell = onBlock && guarded(onBlock, (error, _decision, key) => report(error, key));

  function reported(
    answer: MaybePromise<Decision>,
    key: string,
    note: BlockNote,
  ): MaybePromise<Decision> {
    if (tell === undefined) return answer;
    return andThen(answer, (decision) => {
      tell(decision, key, note);
      return decision;
    });
  }

  return {
    block(key, duration, options = {}) {
      checkText("block a key", "key", key);
      const length = readPeriod("block a key", "duration", duration);
      checkOptions<BlockOptions>("block a key", options, { reason: true });
      const reason = readReason(options.reason);
      return reported(call(block, key, length), key, { duration: length, reason });
    },
    unblock(key) {
      checkText("unblock a key", "key", key);
      return reported(call(unblock, key, 0), key, { duration: 0, reason: undefined });
    },
  };
}
