/*
 * Blocks a key by hand, and ends such a block. Only `blockable` has these transitions; in an `all`
 * they change the parts that are blockable.
 */

import type { Algorithm } from "../algorithm.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import { typeError } from "../options/checks.ts";
import { entriesOf, plainState } from "../receipts/noted.ts";
import { withEntries } from "../receipts/noted_reducer.ts";
import type { DecisionVerb } from "./decision_verb.ts";

/** A change of a state at an instant. */
type Change = (state: unknown, now: number, duration: number) => unknown;

/** Blocks a key from now on for so many milliseconds; a shorter block leaves a longer one alone. */
export const block: DecisionVerb = blockVerb("block", "charge", (algorithm) => {
  const { blocks, parts = [] } = algorithm.internals ?? {};
  if (blocks !== undefined) {
    return (state, now, duration) => blocks.block(state, now + duration);
  }
  const first = parts.findIndex(isBlockable);
  if (first === -1) return undefined;
  const own = blockIn(block, parts[first]!);
  return (state, now, duration) =>
    replaced(algorithm, state, (each, index) => index === first ? own(each, now, duration) : each);
});

/** Ends a key's block: the use under it counts as if there had been no block. */
export const unblock: DecisionVerb = blockVerb("unblock", "free", (algorithm) => {
  const { blocks, parts = [] } = algorithm.internals ?? {};
  if (blocks !== undefined) return (state) => blocks.covered(state);
  if (!parts.some(isBlockable)) return undefined;
  const each = parts.map((part) => isBlockable(part) ? blockIn(unblock, part) : undefined);
  return (state, now, argument) =>
    replaced(algorithm, state, (own, index) => each[index]?.(own, now, argument) ?? own);
});

/** Whether keys of an algorithm can be blocked. */
export function isBlockable({ internals }: Algorithm): boolean {
  return internals?.blocks !== undefined || internals?.parts?.some(isBlockable) === true;
}

function blockIn(verb: DecisionVerb, part: Algorithm): Change {
  const { next } = verb.on(part);
  return next;
}

/** The state of an `all` after a change of each part; the same state if no part has changed. */
function replaced(
  { initial }: Algorithm,
  state: unknown,
  change: (state: unknown, index: number) => unknown,
): unknown {
  const before = plainState(state) as readonly unknown[];
  const after = before.map(change);
  if (after.every((each, index) => each === before[index])) return state;
  const isFresh = after.every((each, index) => each === (initial as readonly unknown[])[index]);
  return withEntries(isFresh ? initial : after, entriesOf(state));
}

function blockVerb(
  name: "block" | "unblock",
  kind: DecisionVerb["kind"],
  changeOf: (algorithm: Algorithm) => Change | undefined,
): DecisionVerb {
  return Object.freeze({
    name,
    kind,
    units: () => 1,
    on(algorithm: Algorithm) {
      const next = changeOf(algorithm);
      if (next === undefined) {
        throw typeError(`${name} a key`, "the algorithm must be blockable(...)", algorithm.id);
      }
      const { decide } = splitReducer(algorithm);
      const look = (state: unknown, now: number) => decide(state, state, now, 0);
      return {
        next,
        answer: (_state: unknown, after: unknown, now: number) => look(after, now),
        uncharged: look,
      };
    },
    decisionOf: (decision: Decision) => decision,
    answerOf: (decision: Decision) => decision,
    transition: () => undefined,
  });
}
