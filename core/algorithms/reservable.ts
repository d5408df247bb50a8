/*
 * Receipts, around any algorithm. A key without open receipts has just the state of the algorithm
 * inside. Open receipts lie beside that state (`core/receipts/open_receipts.ts`), and go with the last
 * of them. The key numbers its receipts and knows which are open. Settling one removes it, so nothing
 * is settled twice, and nothing is remembered of what was settled.
 */

import type { AbilityOf, Algorithm, SplitReducer, Wraps } from "../algorithm.ts";
import type { Returns } from "../arithmetic/returns.ts";
import { checkOptions, typeError } from "../options/checks.ts";
import { type Period, readPeriod } from "../options/period.ts";
import {
  afterUse,
  endOf,
  firstReceipt,
  HEAD,
  type OpenReceipts,
  runOf,
  widthOf,
  withoutReceipt,
  withReceipt,
  withTicks,
} from "../receipts/open_receipts.ts";
import { isOpenState, type OpenState, openState, openStateCodec } from "../receipts/open_state.ts";
import type { Receipts, Settled } from "../receipts/receipt.ts";
import { reducersOf } from "./build_algorithm.ts";
import { abilitiesOf } from "./can.ts";
import { fieldsOf } from "./fields_of.ts";
import { holdsPermits } from "./holds_permits.ts";
import { leavesOf } from "./leaves_of.ts";
import { splitReducer } from "./split_reducer.ts";
import { stateBytes } from "./state_bytes.ts";

/** The options of `reservable`. */
export interface ReservableOptions {
  /**
   * How long a receipt can be settled, from its call on: milliseconds, or text such as `"10m"`. The
   * units of a receipt that nobody settles by then stay charged. Default `"10m"`.
   */
  readonly within?: Period | undefined;
}

const ACTION = "create reservable";

/**
 * An algorithm whose calls can be settled later: `reserve(limiter, key, cost)` takes an estimate and
 * answers with a receipt, and `settle(limiter, key, receipt, used)` corrects it to what was used.
 *
 * A receipt is settled at most once, from wherever and however often it is tried; afterwards the key
 * is as if the call had cost what it used. It can be settled until `receipt.until`; a key keeps 256
 * runs of open receipts, beyond that the oldest close early. Receipts that follow one another and
 * have met the same use are one run. Use beyond the estimate is charged at the instant of settling.
 *
 * A key without open receipts is decided and stored as without `reservable`, under another stored
 * key: `replaces` carries use over. Only receipts give units back, so `refund` throws a `TypeError`.
 * In an `all`, or around `blockable`, receipts belong to the whole: `all(reservable(a), b)` is
 * `reservable(all(a, b))`.
 *
 * A call takes time linear in the runs that it changes: nearly always one or two.
 *
 * @param algorithm The algorithm; units of `concurrency` are permits, and have no receipts. A
 * reservable algorithm is returned as it is.
 * @throws {TypeError} If the argument is not an algorithm, or cannot give units back.
 * @throws {RangeError} If `within` is out of range.
 *
 * @example
 * ```ts
 * import { gcra, limiter, reservable, reserve, settle } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * let now = 0;
 * const rate = gcra({ limit: 60, period: "1m", burst: 10 });
 * const tokens = limiter(reservable(rate, { within: "5m" }), { clock: () => now });
 * const { receipt } = reserve(tokens, "user:42", 8);
 * now = 2_000; // two units have drained
 * assert.equal(settle(tokens, "user:42", receipt!, 1).returned, 6);
 * assert.equal(settle(tokens, "user:42", receipt!, 1).outcome, "unknown");
 * ```
 */
export function reservable<Of extends Algorithm>(
  algorithm: Of,
  options?: ReservableOptions,
): Algorithm<unknown, AbilityOf<Of> | "receipts">;
export function reservable(algorithm: Algorithm, options: ReservableOptions = {}): Algorithm {
  if (typeof algorithm?.step !== "function") {
    throw typeError(ACTION, "it needs an algorithm", algorithm);
  }
  checkOptions<ReservableOptions>(ACTION, options, { within: true });
  const within = readPeriod(ACTION, "within", options.within ?? "10m");
  const { internals, codec } = algorithm;
  if (internals?.receipts !== undefined) return algorithm;
  const returns = internals?.returns;
  if (returns === undefined || holdsPermits(algorithm)) {
    throw typeError(ACTION, "its algorithm must be able to give units back", algorithm.id);
  }
  const halves = reservableReducer(algorithm, returns);
  const width = widthOf(returns.ticks.length);
  const wraps: Wraps = Object.freeze<Wraps>({
    inner: algorithm,
    innerOf,
    withInner: (state: unknown, inner: unknown) =>
      isOpenState(state) ? openState(inner, state.id, state.issued, state.open) : inner,
    around: (inner: Algorithm) => reservable(inner, { within }),
    layer: 2,
    lasts: within,
    carry: (state, old, { inner }, now) => {
      const before = inner.internals?.returns;
      const isKnown = isOpenState(old) && before?.marks === returns.marks &&
        before.ticks.length === returns.ticks.length && now < endOf(old.open, width);
      if (!isKnown) return state;
      const open = withTicks(old.open, width, before.ticks, returns.ticks);
      return openState(state, old.id, old.issued, open);
    },
  });
  const bytes = stateBytes(algorithm);
  return Object.freeze({
    ...fieldsOf(algorithm),
    id: `${algorithm.id}/reservable`,
    ...reducersOf(halves),
    codec: openStateCodec(codec, width),
    internals: Object.freeze({
      halves,
      abilities: Object.freeze({ ...abilitiesOf([algorithm]), receipts: true }),
      leaves: leavesOf(algorithm),
      wraps,
      receipts: receiptsIn(algorithm, returns, within),
      arrival: internals?.arrival,
      keptFor: (state: unknown, now: number, resetAfter: number) =>
        isOpenState(state)
          ? Math.max(resetAfter, endOf(state.open, width) - now)
          : internals?.keptFor?.(state, now, resetAfter) ?? resetAfter,
      bytes: (state: unknown) =>
        (isOpenState(state) ? OPEN_BYTES + 10 * state.open.length : 0) +
        (typeof bytes === "number" ? bytes : bytes(innerOf(state))),
    }),
  });
}

/** The bytes of an open state without its receipts and the state inside. */
const OPEN_BYTES = 120;

/** The state of the algorithm inside. */
function innerOf(state: unknown): unknown {
  return isOpenState(state) ? state.inner : state;
}

/** The same list of receipts beside another state, with other receipts open. */
function withOpen({ id, issued }: OpenState, inner: unknown, open: OpenReceipts): OpenState {
  return openState(inner, id, issued, open);
}

/** The receipts after a call that found a state. */
function afterCall(
  returns: Returns,
  open: OpenReceipts,
  found: unknown,
  now: number,
): OpenReceipts {
  const lags = returns.ticks.length;
  let next = open;
  for (let lag = 0; lag < lags; lag++) {
    next = afterUse(next, widthOf(lags), lag, returns.use(found, now, lag));
  }
  return next;
}

/** Calls see the state inside. Receipts whose time is over go with the next change. */
function reservableReducer(algorithm: Algorithm, returns: Returns): SplitReducer<unknown> {
  const { take, decide, charge } = splitReducer(algorithm);
  const width = widthOf(returns.ticks.length);

  function after(held: OpenState, next: unknown, now: number): unknown {
    const { inner, open } = held;
    if (next === inner) return held;
    if (now >= endOf(open, width)) return next;
    return withOpen(held, next, afterCall(returns, open, inner, now));
  }

  return Object.freeze({
    take(state: unknown, now: number, cost: number) {
      if (!isOpenState(state)) return take(state, now, cost);
      // Beside open receipts, only receipts give units back.
      return cost < 0 ? state : after(state, take(state.inner, now, cost), now);
    },
    decide: (state: unknown, next: unknown, now: number, cost: number) =>
      decide(innerOf(state), innerOf(next), now, cost),
    charge(state: unknown, now: number, cost: number) {
      if (!isOpenState(state)) return charge(state, now, cost);
      return cost < 0 ? state : after(state, charge(state.inner, now, cost), now);
    },
  });
}

function receiptsIn(algorithm: Algorithm, returns: Returns, within: number): Receipts {
  const { charge, decide } = splitReducer(algorithm);
  const width = widthOf(returns.ticks.length);
  const first = firstReceipt(width);

  /** The state once no receipt is open. Without lags, it is a fresh one already if no use is left. */
  function closed(state: unknown, now: number): unknown {
    const isFresh = returns.ticks.length > 0 && decide(state, state, now, 0).resetAfter === 0;
    return isFresh ? algorithm.initial : state;
  }

  return Object.freeze(
    {
      isOpen: (state: unknown) => isOpenState(state),
      issue(after: unknown, now: number, id: number) {
        const until = now + within;
        // A list of receipts whose time is over ends, whether a store has forgotten it or not.
        if (!isOpenState(after) || now >= endOf(after.open, width)) {
          const open = first.slice();
          open[2] = until;
          return openState(innerOf(after), id, 1, open);
        }
        const { inner, id: own, issued, open } = after;
        return openState(inner, own, issued + 1, withReceipt(open, width, issued, until, now));
      },
      newest(after: unknown, now: number) {
        const { inner, id, issued } = after as OpenState;
        return { id, number: issued - 1, until: now + within, marks: returns.mark(inner) };
      },
      settle(held: unknown, now: number, claim, used: number): Settled<unknown> {
        const { id, number, until, units, marks } = claim;
        const isListed = isOpenState(held) && held.id === id;
        const at = isListed ? runOf(held.open, width, number) : -1;
        if (!isListed || at === -1 || now >= until || marks.length !== returns.marks) {
          return {
            next: held,
            outcome: now >= until ? "expired" : "unknown",
            returned: 0,
            charged: 0,
          };
        }
        const { inner, open } = held;
        if (used <= units) {
          const { next, returned, wanted, moved } = used < units
            ? returns.giveBack(inner, now, units - used, marks, 0, open, at + HEAD)
            : { next: inner, returned: 0, wanted: [], moved: [] };
          const left = withoutReceipt(open, width, at, number, wanted, moved);
          const after = left.length === 0 ? closed(next, now) : withOpen(held, next, left);
          return { next: after, outcome: "settled", returned, charged: 0 };
        }
        const charged = used - units;
        const next = charge(inner, now, charged);
        const rest = withoutReceipt(open, width, at, number, [], []);
        // A debt has a bound. A charge that takes nothing is no later call.
        const left = next === inner ? rest : afterCall(returns, rest, inner, now);
        const after = left.length === 0 ? closed(next, now) : withOpen(held, next, left);
        return { next: after, outcome: "settled", returned: 0, charged };
      },
    } satisfies Receipts,
  );
}
