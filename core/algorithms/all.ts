/*
 * Several limits on one key as one algorithm: the reducers of the parts side by side, charged
 * together or not at all, and their states written one after the other.
 */

import type { AbilityOf, Algorithm, Formula, Policy, SplitReducer, Wraps } from "../algorithm.ts";
import { countOf } from "../arithmetic/counts.ts";
import { reducersOf } from "./build_algorithm.ts";
import { typeError } from "../options/checks.ts";
import { abilitiesOf } from "./can.ts";
import { combineDecisions } from "./combine_decisions.ts";
import type { Codec } from "../codec.ts";
import type { Decision } from "../decision.ts";
import { distinctNames } from "./distinct_names.ts";
import { inEachPart } from "../arithmetic/returns.ts";
import { leavesOf } from "./leaves_of.ts";
import { splitReducer } from "./split_reducer.ts";

/** The state of `all`: each part's state, in order. */
export type AllState = readonly unknown[];

/**
 * Several limits on one key, all or nothing: a call is admitted when every one admits it, and is
 * charged to all of them or to none. The order does not matter to the verdict.
 *
 * The decision's `parts` holds the decision of each part, in order. When the call is refused, a
 * part's `allowed` is its own verdict, which shows the limits that refused. Policies whose names
 * are equal are numbered. With a `reservable` part, the whole is reservable.
 *
 * A call takes as long as the calls of all parts together. Source: J. Carlson, "Rate limiting with
 * Redis, part 2": check all, then count.
 *
 * @param algorithms At least one, of any kind.
 * @throws {TypeError} If there are no algorithms, or an argument is not an algorithm.
 *
 * @example
 * ```ts
 * import { all, gcra, slidingWindow } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const algorithm = all(
 *   gcra({ limit: 5, period: "1s", burst: 5, name: "second" }),
 *   slidingWindow({ limit: 100, period: "1m", precision: "1s", name: "minute" }),
 * );
 * const [, state] = algorithm.step(algorithm.initial, 0, 5);
 * const [decision] = algorithm.step(state, 0, 1);
 *
 * assert.equal(decision.allowed, false);
 * assert.deepEqual(decision.parts?.map((part) => part.allowed), [false, true]);
 * assert.equal(decision.parts?.[1]?.remaining, 95); // not charged
 * ```
 */
export function all<const Parts extends readonly Algorithm[]>(
  ...algorithms: Parts
): Algorithm<unknown, AbilityOf<Parts[number]>>;
export function all(...algorithms: readonly Algorithm[]): Algorithm {
  if (algorithms.length === 0) {
    throw typeError("create all", "it needs at least one algorithm", algorithms);
  }
  for (const algorithm of algorithms) {
    if (typeof algorithm?.step !== "function") {
      throw typeError("create all", "its arguments must be algorithms", algorithm);
    }
  }
  const whole = aroundWhole(algorithms);
  if (whole !== undefined) return whole.around(all(...algorithms.map(insideWhole)));
  const initial: AllState = Object.freeze(algorithms.map((algorithm) => algorithm.initial));
  const capacity = Math.min(...algorithms.map((algorithm) => algorithm.capacity));
  const halves = Object.freeze(
    allReducer(algorithms.map((part) => splitReducer(part)), initial, capacity),
  );
  return Object.freeze({
    name: algorithms.map((algorithm) => algorithm.name).join("+"),
    id: `all(${algorithms.map((algorithm) => algorithm.id).join(",")})`,
    policies: Object.freeze(distinctPolicies(algorithms)),
    capacity,
    initial,
    ...reducersOf(halves),
    codec: allCodec(algorithms, initial),
    internals: Object.freeze({
      halves,
      parts: Object.freeze([...algorithms]),
      leaves: Object.freeze(algorithms.flatMap(leavesOf)),
      abilities: abilitiesOf(algorithms),
      formula: formulaOf(algorithms),
      returns: inEachPart(algorithms.map(({ internals }) => internals?.returns), initial),
    }),
  });
}

/** The combinator around a part that belongs around all parts together, the longest of several. */
function aroundWhole(algorithms: readonly Algorithm[]): Wraps | undefined {
  const lasting = ({ internals }: Algorithm) => internals?.wraps?.lasts ?? -1;
  const longest = algorithms.reduce((one, other) => lasting(other) > lasting(one) ? other : one);
  return lasting(longest) < 0 ? undefined : longest.internals!.wraps;
}

/** A part without the combinator that belongs around all parts. */
function insideWhole(algorithm: Algorithm): Algorithm {
  const { wraps } = algorithm.internals ?? {};
  return wraps?.lasts === undefined ? algorithm : wraps.inner;
}

/** The policies of the parts, each with a name of its own. */
function distinctPolicies(algorithms: readonly Algorithm[]): Policy[] {
  const policies = algorithms.flatMap(({ policies }) => policies);
  const names = distinctNames(policies);
  return policies.map((policy, index) =>
    policy.name === names[index] ? policy : Object.freeze({ ...policy, name: names[index]! })
  );
}

/** The formulas of the parts as one formula; `undefined` if a part has no formula. */
function formulaOf(algorithms: readonly Algorithm[]): Formula | undefined {
  const formulas: Formula[] = [];
  for (const { internals } of algorithms) {
    if (internals?.formula !== undefined) formulas.push(internals.formula);
  }
  return formulas.length === algorithms.length ? ["all", ...formulas] : undefined;
}

/**
 * The state transition of all parts together, for a call that takes or for one that charges.
 *
 * @param refuses Whether a part refused the cost, given that the cost left its state unchanged.
 */
export function takeAll(
  takes: readonly SplitReducer<unknown>["take"][],
  initial: AllState,
  refuses: (index: number, state: unknown, now: number, cost: number) => boolean,
): SplitReducer<AllState>["take"] {
  return function take(states, now, cost) {
    if (cost === 0) return states;
    const next: unknown[] = [];
    let isChanged = false;
    let isFresh = true;
    for (let index = 0; index < takes.length; index++) {
      const state = states[index];
      const taken = takes[index]!(state, now, cost);
      if (taken !== state) isChanged = true;
      else if (cost > 0 && refuses(index, state, now, cost)) return states;
      if (taken !== initial[index]) isFresh = false;
      next.push(taken);
    }
    if (!isChanged) return states;
    return isFresh ? initial : next;
  };
}

function allReducer(
  parts: readonly SplitReducer<unknown>[],
  initial: AllState,
  capacity: number,
): SplitReducer<AllState> {
  return {
    take: takeAll(
      parts.map(({ take }) => take),
      initial,
      // The state is unchanged if the part refused, or if its algorithm keeps nothing.
      (index, state, now, cost) => !parts[index]!.decide(state, state, now, cost).allowed,
    ),
    decide: (states: AllState, next: AllState, now: number, cost: number) =>
      combineDecisions(decideParts(parts, states, next, now, cost), capacity),
    charge: takeAll(parts.map(({ charge }) => charge), initial, () => false),
  };
}

/** Each part's decision. When a part refuses, the others answer as they would for a look. */
function decideParts(
  parts: readonly SplitReducer<unknown>[],
  states: AllState,
  next: AllState,
  now: number,
  cost: number,
): readonly Decision[] {
  const decisions: Decision[] = [];
  let allowed = true;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!;
    const state = states[index];
    const taken = next === states ? part.take(state, now, cost) : next[index];
    const decision = part.decide(state, taken, now, cost);
    allowed = allowed && decision.allowed;
    decisions.push(decision);
  }
  if (allowed) return decisions;
  return decisions.map((decision, index) => {
    const state = states[index];
    return decision.allowed ? parts[index]!.decide(state, state, now, 0) : decision;
  });
}

/**
 * Words: each part's words, after their number where it can vary. Text: `a1`, then for each part
 * the length of its text, a colon and the text.
 */
function allCodec(parts: readonly Algorithm[], initial: AllState): Codec<AllState> {
  const codecs = parts.map((part) => part.codec);

  /**
   * The states, or `initial` itself if no part holds use; `undefined` if a state has an unknown
   * shape.
   */
  function statesOf(states: readonly unknown[] | undefined): AllState | undefined {
    if (states === undefined || states.includes(undefined)) return undefined;
    return states.every((state, index) => state === initial[index]) ? initial : states;
  }

  return {
    maxWords: codecs.reduce((sum, codec) => sum + codec.maxWords + lengthWords(codec), 0),
    write(states, words, offset) {
      let index = offset;
      codecs.forEach((codec, part) => {
        const header = lengthWords(codec);
        const count = codec.write(states[part], words, index + header);
        if (header === 1) words[index] = count;
        index += header + count;
      });
      return index - offset;
    },
    read: (words, offset, count) => statesOf(readParts(codecs, words, offset, offset + count)),
    encode: (states) => encodeAll(codecs, states),
    decode: (text) => decodeAll(codecs, initial, text),
  };
}

/** How one part's states are kept as text. */
type TextCodec = Pick<Codec<unknown>, "encode" | "decode">;

/** The states as text. */
export function encodeAll(codecs: readonly TextCodec[], states: AllState): string {
  let text = "a1";
  for (let index = 0; index < codecs.length; index++) {
    const own = codecs[index]!.encode(states[index]);
    text = `${text} ${own.length}:${own}`;
  }
  return text;
}

/**
 * The states of `a1 3:abc 2:de`; `undefined` if their number is wrong, or one has an unknown shape.
 */
export function decodeAll(
  codecs: readonly TextCodec[],
  initial: AllState,
  text: string,
): AllState | undefined {
  if (text.slice(0, 2) !== "a1") return undefined;
  const states: unknown[] = [];
  let isFresh = true;
  let start = 2;
  for (let index = 0; index < codecs.length; index++) {
    const colon = text.indexOf(":", start);
    if (colon < 0 || text.slice(start, start + 1) !== " ") return undefined;
    const end = colon + 1 + countOf(text.slice(start + 1, colon));
    if (!(end <= text.length)) return undefined;
    const state = codecs[index]!.decode(text.slice(colon + 1, end));
    if (state === undefined) return undefined;
    if (state !== initial[index]) isFresh = false;
    states.push(state);
    start = end;
  }
  if (start !== text.length) return undefined;
  return isFresh ? initial : states;
}

/** The states of the parts in these words; `undefined` if their lengths do not add up. */
function readParts(
  codecs: readonly Codec<unknown>[],
  words: Float64Array,
  offset: number,
  end: number,
): readonly unknown[] | undefined {
  let index = offset;
  const states = codecs.map((codec) => {
    const header = lengthWords(codec);
    const length = header === 0 ? 1 : words[index]!;
    index += header;
    if (!(length >= 0 && length <= end - index)) return undefined;
    index += length;
    return codec.read(words, index - length, length);
  });
  return index === end ? states : undefined;
}

/** A codec whose states all take one word needs no word for their length. */
function lengthWords(codec: Codec<unknown>): 0 | 1 {
  return codec.maxWords === 1 ? 0 : 1;
}
