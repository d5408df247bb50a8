/*
 * Sets a holder's share of the units of `concurrency`: the units from which a process gives out all of
 * its permits. Each message is numbered and says how many units the holder wants in all, so a message
 * that is lost, late or doubled does no harm. It also renews the share.
 */

import type { Algorithm, ShareMessage } from "../algorithm.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import { typeError } from "../options/checks.ts";
import type { Verb } from "../store.ts";

/** The request of a share. */
export interface ShareArgument extends ShareMessage {
  /** The units that the holder needs at least. The decision is about these units. */
  readonly least: number;
}

/** The answer to a request for a share. */
export interface Shared {
  /** Allowed if the share has at least the units that the holder needs; a look if it need not grow. */
  readonly decision: Decision;
  /**
   * The units of the share; 0 if none are free for it, or it was given back; `undefined` if it has
   * expired, or is not known because a failure policy answered.
   */
  readonly units: number | undefined;
}

/** Sets the share of a holder. */
export const share: Verb<ShareArgument, Shared> = Object.freeze({
  name: "hold",
  kind: "take",
  units: ({ least }: ShareArgument) => least,
  on(algorithm: Algorithm) {
    const shares = algorithm.internals?.permits?.shares;
    if (shares === undefined) {
      throw typeError("hold a share", "its algorithm must be concurrency(...)", algorithm.id);
    }
    const { decide } = splitReducer(algorithm);
    return {
      next: (state: unknown, now: number, message: ShareArgument) =>
        shares.set(state, now, message),
      answer(state: unknown, next: unknown, now: number, message: ShareArgument) {
        const { id, number, least } = message;
        const before = shares.of(state, now, id);
        const after = shares.of(next, now, id);
        // If a share is gone, its holder begins a new share under another id.
        const isGone = after === undefined && before === undefined && number > 1;
        const units = isGone ? undefined : after?.units ?? 0;
        const missing = Math.max(0, least - (units ?? 0));
        return { decision: decide(next, next, now, missing), units };
      },
    };
  },
  decisionOf: ({ decision }: Shared) => decision,
  answerOf: (decision: Decision, answer?: Shared): Shared => ({
    decision,
    units: answer?.units,
  }),
  transition: () => undefined,
});
