/*
 * Blocks a key by hand, and ends such a block. Only `blockable` has these transitions; in an `all`
 * they change the parts that are blockable.
 */

import type { Algorithm, Wraps } from "../algorithm.ts";
import { can } from "../algorithms/can.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import { typeError } from "../options/checks.ts";
import type { DecisionVerb } from "./decision_verb.ts";

/** A change of a state at an instant. */
type Change = (state: unknown, now: number, duration: number) => unknown;

/**
 * Blocks a key from now on for so many milliseconds, or for `Infinity`; a shorter block leaves a longer
 * one alone.
 */
export const block: DecisionVerb = blockVerb("block", "charge", (algorithm) => {
  const { blocks, wraps, parts = [] } = algorithm.internals ?? {};
  if (blocks !== undefined) {
    return (state, now, duration) => blocks.block(state, now + duration);
  }
  if (wraps !== undefined) return insideOf(wraps, block);
  const first = parts.findIndex(isBlockable);
  if (first === -1) return undefined;
  const own = blockIn(block, parts[first]!);
  return (state, now, duration) =>
    replaced(algorithm, state, (each, index) => index === first ? own(each, now, duration) : each);
});

/** Ends a key's block: the use under it counts as if there had been no block. */
export const unblock: DecisionVerb = blockVerb("unblock", "free", (algorithm) => {
  const { blocks, wraps, parts = [] } = algorithm.internals ?? {};
  if (blocks !== undefined) return (state) => wraps!.innerOf(state);
  if (wraps !== undefined) return insideOf(wraps, unblock);
  if (!parts.some(isBlockable)) return undefined;
  const each = parts.map((part) => isBlockable(part) ? blockIn(unblock, part) : undefined);
  return (state, now, argument) =>
    replaced(algorithm, state, (own, index) => each[index]?.(own, now, argument) ?? own);
});

/** Whether keys of an algorithm can be blocked. */
export function isBlockable(algorithm: Algorithm): boolean {
  return can(algorithm, "blocks");
}

/** The change of a state inside another combinator. */
function insideOf(wraps: Wraps, verb: DecisionVerb): Change | undefined {
  if (!isBlockable(wraps.inner)) return undefined;
  const own = blockIn(verb, wraps.inner);
  return (state, now, duration) => {
    const inner = wraps.innerOf(state);
    const next = own(inner, now, duration);
    return next === inner ? state : wraps.withInner(state, next);
  };
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
  const before = state as readonly unknown[];
  const after = before.map(change);
  if (after.every((each, index) => each === before[index])) return state;
  const isFresh = after.every((each, index) => each === (initial as readonly unknown[])[index]);
  return isFresh ? initial : after;
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
      return {
        next,
        answer: (_state: unknown, after: unknown, now: number) => decide(after, after, now, 0),
      };
    },
    decisionOf: (decision: Decision) => decision,
    answerOf: (decision: Decision) => decision,
    transition: () => undefined,
  });
}
