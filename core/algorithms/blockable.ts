/*
 * Blocks by hand, around any algorithm. A key that is not blocked has just the state of the inner
 * algorithm. A blocked key has that state and the end of its block. So a block changes nothing in
 * the state that it covers, and when the block ends, that state counts again.
 */

import type { AbilityOf, Algorithm, Blocks, Permits, SplitReducer, Wraps } from "../algorithm.ts";
import { countOf } from "../arithmetic/counts.ts";
import type { Codec } from "../codec.ts";
import type { Decision } from "../decision.ts";
import { makeDecision } from "../make_decision.ts";
import { LAST_INSTANT, typeError } from "../options/checks.ts";
import type { Returns } from "../arithmetic/returns.ts";
import { all } from "./all.ts";
import { reducersOf } from "./build_algorithm.ts";
import { abilitiesOf } from "./can.ts";
import { fieldsOf } from "./fields_of.ts";
import { leavesOf } from "./leaves_of.ts";
import { splitReducer } from "./split_reducer.ts";
import { stateBytes } from "./state_bytes.ts";

/** The state of a key that was blocked. */
interface BlockedState<State = unknown> {
  /** When the block ends. */
  readonly blockedUntil: number;
  /** The state that it covers. */
  readonly covered: State;
}

/**
 * An algorithm whose keys can be blocked by hand: `block(limiter, key, duration)` refuses every call
 * on a key for that long or `"forever"`, `unblock(limiter, key)` ends that block, and
 * `blocked(limiter)` lists the blocked keys.
 *
 * A key that was never blocked is decided and stored as it is without `blockable`. While a key is
 * blocked, `remaining` is 0, a refusal writes nothing, and `retryAfter` is the first millisecond
 * after the block at which the algorithm admits the cost. Earlier use of the key ends when it would
 * have ended without the block; `refund` and `charge` change that use, not the block. Once the
 * block is over, or was ended, the key is as if it had never been blocked. The stored keys differ
 * from those of the algorithm without `blockable`: `replaces` carries use over. The receipts of a
 * `reservable` algorithm can be settled while its key is blocked.
 *
 * In an `all` the first part becomes blockable, because one part that refuses is enough.
 *
 * Every call takes as long as without `blockable`, and up to three times as long on a blocked key.
 * In memory a state of one number is an object beside its slot; on Redis a transition is compared
 * and set, not scripted. A shared store keeps a blockable log or window as words, so it holds only
 * some 500 entries.
 *
 * @param algorithm The algorithm. A blockable algorithm is returned as it is.
 * @throws {TypeError} If the argument is not an algorithm.
 *
 * @example
 * ```ts
 * import { block, blockable, gcra, limiter, unblock } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const api = limiter(blockable(gcra({ limit: 100, period: "1m", burst: 100 })), { clock: () => 0 });
 * block(api, "user:42", "1h");
 * assert.equal(api.consume("user:42").allowed, false);
 * assert.equal(api.peek("user:42").retryAfter, 3_600_000);
 * unblock(api, "user:42");
 * assert.equal(api.consume("user:42").remaining, 99);
 * ```
 */
export function blockable<Of extends Algorithm>(
  algorithm: Of,
): Algorithm<unknown, AbilityOf<Of> | "blocks">;
export function blockable(algorithm: Algorithm): Algorithm {
  if (typeof algorithm?.step !== "function") {
    throw typeError("create blockable", "it needs an algorithm", algorithm);
  }
  const { internals, initial, codec } = algorithm;
  if (internals?.blocks !== undefined) return algorithm;
  const { wraps } = internals ?? {};
  if (wraps !== undefined && wraps.layer > LAYER) return wraps.around(blockable(wraps.inner));
  if (internals?.parts !== undefined) {
    const [first, ...others] = internals.parts;
    return all(blockable(first!), ...others);
  }
  const halves = blockableReducer(algorithm);
  const { permits, returns } = internals ?? {};
  const bytes = stateBytes(algorithm);
  return Object.freeze({
    ...fieldsOf(algorithm),
    id: `${algorithm.id}/blockable`,
    initial,
    ...reducersOf(halves),
    codec: blockableCodec(codec),
    internals: Object.freeze({
      halves,
      abilities: Object.freeze({ ...abilitiesOf([algorithm]), blocks: true }),
      leaves: leavesOf(algorithm),
      blocks: blocksOf<unknown>(),
      wraps: Object.freeze({
        inner: algorithm,
        innerOf: coveredBy,
        withInner: (state: unknown, covered: unknown) =>
          isBlocked(state) ? { ...state, covered } : covered,
        around: blockable,
        layer: LAYER,
        carry: (covered: unknown, old: unknown, _before: Wraps, now: number) =>
          isBlocked(old) && old.blockedUntil > now ? { ...old, covered } : covered,
      }),
      ...(permits && { permits: permitsUnder(permits, initial) }),
      ...(returns && { returns: returnsUnder(returns, initial) }),
      ...(typeof bytes !== "number" && {
        bytes: (state: unknown) =>
          isBlocked(state) ? BLOCK_BYTES + bytes(state.covered) : bytes(state),
      }),
    }),
  });
}

/** Its place among combinators. */
const LAYER = 1;

/** The bytes of a block, without the state that it covers. */
const BLOCK_BYTES = 44;

/** Whether a state has a block, over or not. */
function isBlocked<State>(state: State | BlockedState<State>): state is BlockedState<State> {
  return typeof state === "object" && state !== null &&
    (state as BlockedState<State>).blockedUntil !== undefined;
}

/** The state without its block. */
function coveredBy<State>(state: State | BlockedState<State>): State {
  return isBlocked(state) ? state.covered : state;
}

function blocksOf<State>(): Blocks<State | BlockedState<State>> {
  const blocks: Blocks<State | BlockedState<State>> = {
    until: (state) => isBlocked(state) ? state.blockedUntil : 0,
    block(state, until) {
      const end = Math.min(until, LAST_INSTANT);
      if (isBlocked(state) && state.blockedUntil >= end) return state;
      return { blockedUntil: end, covered: coveredBy(state) };
    },
  };
  return Object.freeze(blocks);
}

/**
 * The state of a blocked key after a call on the covered state; the block is left out once it is
 * over. If nothing changes, a call that takes units was refused; other calls were not.
 */
function afterCall<State>(
  initial: State,
  blocked: BlockedState<State>,
  next: State,
  now: number,
  mayClear: boolean,
): State | BlockedState<State> {
  const { blockedUntil, covered } = blocked;
  const isOver = now >= blockedUntil;
  if (next === covered) return isOver && mayClear && next === initial ? initial : blocked;
  return isOver ? next : { blockedUntil, covered: next };
}

/**
 * Permits of a key that may be blocked: a block refuses new permits and leaves held permits alone.
 */
function permitsUnder<State>(
  permits: Permits<State>,
  initial: State,
): Permits<State | BlockedState<State>> {
  type Own = State | BlockedState<State>;
  const on = (state: Own, now: number, change: (covered: State) => State): Own =>
    isBlocked(state) ? afterCall(initial, state, change(state.covered), now, false) : change(state);
  return {
    ttl: permits.ttl,
    maxHold: permits.maxHold,
    single: permits.single,
    hold: (state, now, cost, id) =>
      isBlocked(state) && now < state.blockedUntil && !permits.holds(state.covered, now, id)
        ? state
        : on(state, now, (covered) => permits.hold(covered, now, cost, id)),
    renew: (state, now, id) => on(state, now, (covered) => permits.renew(covered, now, id)),
    release: (state, now, id) => on(state, now, (covered) => permits.release(covered, now, id)),
    holds: (state, now, id) => permits.holds(coveredBy(state), now, id),
    scale: (share) => blockable(permits.scale(share)),
  };
}

/** Units of calls on a key that may be blocked. They belong to the state that the block covers. */
function returnsUnder<State>(
  returns: Returns<State>,
  initial: State,
): Returns<State | BlockedState<State>> {
  return {
    marks: returns.marks,
    ticks: returns.ticks,
    mark: (after) => returns.mark(coveredBy(after)),
    use: (state, now, lag) => returns.use(coveredBy(state), now, lag),
    giveBack(state, now, ...given) {
      if (!isBlocked(state)) return returns.giveBack(state, now, ...given);
      const back = returns.giveBack(state.covered, now, ...given);
      return { ...back, next: afterCall(initial, state, back.next, now, true) };
    },
  };
}

function blockableReducer<State>(
  algorithm: Algorithm<State>,
): SplitReducer<State | BlockedState<State>> {
  const { initial } = algorithm;
  const { take, decide, charge } = splitReducer(algorithm);
  type Own = State | BlockedState<State>;

  const under = (blocked: BlockedState<State>, next: State, now: number, mayClear: boolean): Own =>
    afterCall(initial, blocked, next, now, mayClear);

  /**
   * The decision about a blocked key: the decision at the last millisecond of the block, as seen
   * from `now`.
   */
  function decideBlocked(
    { blockedUntil, covered }: BlockedState<State>,
    now: number,
    cost: number,
  ) {
    const wait = blockedUntil - now;
    const { debt } = decide(covered, covered, now, 0);
    const then = decide(covered, covered, blockedUntil, 0);
    const tried = decide(covered, take(covered, blockedUntil, cost), blockedUntil, cost);
    // A block without an end is kept until the last instant. No caller should come back then.
    const retryAfter = blockedUntil === LAST_INSTANT ? Infinity : wait + tried.retryAfter;
    return blockedDecision(then, wait, cost <= 0, retryAfter, debt);
  }

  return Object.freeze({
    take(state: Own, now: number, cost: number): Own {
      if (!isBlocked(state)) return take(state, now, cost);
      if (cost > 0 && now < state.blockedUntil) return state;
      return under(state, take(state.covered, now, cost), now, cost < 0);
    },
    decide(state: Own, next: Own, now: number, cost: number): Decision {
      if (isBlocked(next) && now < next.blockedUntil) return decideBlocked(next, now, cost);
      return decide(coveredBy(state), coveredBy(next), now, cost);
    },
    charge(state: Own, now: number, cost: number): Own {
      if (!isBlocked(state)) return charge(state, now, cost);
      return under(state, charge(state.covered, now, cost), now, cost !== 0);
    },
  });
}

function blockedDecision(
  then: Decision,
  wait: number,
  allowed: boolean,
  retryAfter: number,
  debt: number,
): Decision {
  return makeDecision(
    allowed,
    then.limit,
    0,
    allowed ? 0 : retryAfter,
    wait + (then.remaining > 0 ? 0 : then.nextAfter),
    wait + then.resetAfter,
    0,
    debt,
  );
}

/**
 * The codec of a state with a block or without. Text: `b1`, the end of the block and the text of
 * the covered state. Words: the words of the covered state, padded to their largest number; their
 * number, unless it is always one; and the end of the block.
 */
function blockableCodec<State>(inner: Codec<State>): Codec<State | BlockedState<State>> {
  const { maxWords: most } = inner;
  const header = most === 1 ? 0 : 1;
  const maxWords = most + header + 1;

  function stateOf(until: number, covered: State | undefined): BlockedState<State> | undefined {
    const isEnd = Number.isSafeInteger(until) && until > 0 && until <= LAST_INSTANT;
    return covered === undefined || !isEnd ? undefined : { blockedUntil: until, covered };
  }

  return {
    maxWords,
    write(state, words, offset) {
      if (!isBlocked(state)) return inner.write(state, words, offset);
      const count = inner.write(state.covered, words, offset);
      words.fill(0, offset + count, offset + most);
      if (header === 1) words[offset + most] = count;
      words[offset + most + header] = state.blockedUntil;
      return maxWords;
    },
    read(words, offset, count) {
      if (count < maxWords) return inner.read(words, offset, count);
      const own = header === 1 ? words[offset + most]! : 1;
      if (!(own >= 1 && own <= most)) return undefined;
      return stateOf(words[offset + most + header]!, inner.read(words, offset, own));
    },
    encode: (state) =>
      isBlocked(state)
        ? `b1 ${state.blockedUntil} ${inner.encode(state.covered)}`
        : inner.encode(state),
    decode(text) {
      if (!text.startsWith("b1 ")) return inner.decode(text);
      const end = text.indexOf(" ", 3);
      if (end < 0) return undefined;
      return stateOf(countOf(text.slice(3, end)), inner.decode(text.slice(end + 1)));
    },
  };
}
