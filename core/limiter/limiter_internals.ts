/*
 * The members of a limiter that only adapters use, and functions that take a limiter.
 */

import type { Algorithm } from "../algorithm.ts";
import type { Clock } from "../clock.ts";
import type { Decision } from "../decision.ts";
import { typeError } from "../options/checks.ts";
import type { Store } from "../store.ts";
import type { Counter } from "../together/ask.ts";
import type { BlockNote } from "./block_note.ts";
import type { PermitDesk } from "./permit_desk.ts";
import type { Listeners } from "./listeners.ts";

/** A limiter from the inside. */
export interface LimiterInternals extends Counter {
  readonly algorithm: Algorithm;
  readonly store: Store;
  readonly clock: Clock | undefined;
  /** The answer of `familiesOf`, once it was asked. */
  families: readonly string[] | undefined;
  /** The most callers that may wait. */
  readonly maxWaiting: number;
  /** The listeners for units that come back to keys of the store. */
  readonly listeners: Listeners;
  /** How its permits are held, if its algorithm has permits. */
  readonly permits: PermitDesk | undefined;
  /** The callback for blocks, which may throw. */
  readonly onBlock: ((decision: Decision, key: string, note: BlockNote) => void) | undefined;
  /** Reports a failure of a callback to `onFailure`. */
  failed(error: unknown, key: string): void;
  /** The instant to decide at; `undefined` for the store's own time. */
  now(): number | undefined;
  /** Reports a verdict to `onDecision`. */
  report(decision: Decision, key: string, cost: number): void;
}

const INTERNALS: unique symbol = Symbol("internals");

/** A limiter of these methods, whose internals `internalsOf` finds. */
export function withInternals<Made extends object>(made: Made, own: LimiterInternals): Made {
  return Object.freeze(Object.defineProperty(made, INTERNALS, { value: own }));
}

/** The internals of a limiter; `undefined` for anything else. */
export function internalsOf(limiter: object): LimiterInternals | undefined {
  return (limiter as { readonly [INTERNALS]?: LimiterInternals } | undefined)?.[INTERNALS];
}

/**
 * The internals of a limiter.
 *
 * @param action The call that needs them, for the error.
 * @throws {TypeError} If it is not a limiter of this package.
 */
export function requireLimiter(action: string, limiter: object): LimiterInternals {
  const own = internalsOf(limiter);
  if (own === undefined) throw typeError(action, "it needs a limiter", limiter);
  return own;
}

/**
 * Requires limiters that can be charged at one instant.
 *
 * @param action The call that charges them, for the error.
 * @param asks At least one.
 * @throws {TypeError} If their stores or clocks differ.
 */
export function requireTogether(
  action: string,
  asks: readonly { readonly counter: LimiterInternals }[],
): void {
  const { store, clock } = asks[0]!.counter;
  for (let index = 1; index < asks.length; index++) {
    const { counter } = asks[index]!;
    if (counter.store !== store) {
      const rule = "all limiters must be on one store, as in limiter(algorithm, { store, prefix })";
      throw typeError(action, rule, "several");
    }
    if (counter.clock !== clock) {
      throw typeError(action, "all limiters must share one clock", "several");
    }
  }
}
