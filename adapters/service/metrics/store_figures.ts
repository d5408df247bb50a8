import { isPromise } from "../../../core/toolkit.ts";
import type { Store } from "../../../mod.ts";

type Numbers = Readonly<Record<string, number>>;

/** The part of a thread's time that may go into counting what a store holds. */
const MOST_TIME = 0.02;

/**
 * Makes what reports the numbers that a store reports of itself. A large store takes a while to
 * count, and anybody may ask: so the longer it took, the longer the same numbers are reported.
 *
 * @param time Milliseconds that pass.
 */
export function storeFigures(
  store: Store,
  time: () => number = () => performance.now(),
): () => Numbers {
  const { statistics } = store as { readonly statistics?: () => unknown };
  let known: Numbers = {};
  let freshUntil = -Infinity;
  return function figures() {
    const start = time();
    if (start < freshUntil) return known;
    known = numbersOf(statistics?.());
    const end = time();
    freshUntil = end + (end - start) / MOST_TIME;
    return known;
  };
}

function numbersOf(statistics: unknown): Numbers {
  if (typeof statistics !== "object" || statistics === null || isPromise(statistics)) return {};
  const numbers = Object.entries(statistics).filter(([, value]) => typeof value === "number");
  return Object.fromEntries(numbers) as Numbers;
}
