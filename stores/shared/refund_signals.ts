/*
 * The signal by which a thread that waits for units learns that another thread gave some back. It is
 * a shared word, one for all keys whose hashes begin alike.
 *
 *   word   changes << 1 | whether a thread waits for the next change
 *
 * A thread that is about to wait marks the word, then tries its call, and after a refusal waits
 * until the word changes. A thread that gives units back swaps the key's slot, then reads the word,
 * and changes it if it is marked. So either the call sees the units, or its word changes. If nobody
 * waits, a refund costs one read. A thread that is killed while it waits leaves a mark, which the
 * next refund removes. If a thread is killed between the swap and the change, the others sleep for
 * the whole time that their refusals named.
 */

import type { RefundNotice } from "../../core/store.ts";
import { later } from "./later.ts";
import { type Memory, SIGNAL_COUNT } from "./layout.ts";

/** The least milliseconds between a refund and the calls that it causes, however many there are. */
const PAUSE = 1;
const MARK = 1;

/** The callbacks in this thread that wait until a word changes. */
interface Listeners {
  readonly at: number;
  readonly seen: number;
  readonly wakes: Set<() => void>;
}

interface AsyncAtomics {
  readonly waitAsync: (ints: Int32Array, at: number, value: number) => { readonly value: unknown };
}

/** The signals in a store's memory, for one thread that gives and receives them. */
export type RefundSignals = ReturnType<typeof refundSignals>;

/** Opens the signals of a store for a thread. */
export function refundSignals({ ints, signals }: Memory) {
  // At most one wait for each word: a wait cannot be cancelled, so it stays until the word changes.
  const listening = new Map<number, Listeners>();
  const placeOf = (low: number) => signals + ((low >>> 20) & (SIGNAL_COUNT - 1));

  function change(at: number): void {
    const word = Atomics.load(ints, at);
    if ((word & MARK) === 0) return;
    // A change by any other thread wakes them all.
    if (Atomics.compareExchange(ints, at, word, (word + 1) | 0) === word) Atomics.notify(ints, at);
  }

  function marked(at: number): number {
    for (;;) {
      const word = Atomics.load(ints, at);
      if ((word & MARK) !== 0) return word;
      if (Atomics.compareExchange(ints, at, word, word + 1) === word) return word + 1;
    }
  }

  function follow(own: Listeners): void {
    const { at, seen, wakes } = own;
    const { value } = (Atomics as unknown as AsyncAtomics).waitAsync(ints, at, seen);
    void Promise.resolve(value).then(() => wakes.size > 0 && later(PAUSE, () => wakeAll(own)));
  }

  function wakeAll(own: Listeners): void {
    if (listening.get(own.at) === own) listening.delete(own.at);
    for (const wake of [...own.wakes]) wake();
  }

  return {
    /**
     * Signals that units of a key were given back; the low half of its fingerprint finds the word.
     */
    signal: (low: number): void => change(placeOf(low)),
    /** Signals a refund for all keys. */
    signalAll(): void {
      for (let at = signals; at < signals + SIGNAL_COUNT; at++) change(at);
    },
    /** Makes a notice of refunds to a key, from now on. */
    notice(low: number): RefundNotice {
      const at = placeOf(low);
      const seen = marked(at);
      return (wake) => {
        let own = listening.get(at);
        if (own?.seen !== seen) {
          own = { at, seen, wakes: new Set() };
          listening.set(at, own);
          follow(own);
        }
        const { wakes } = own;
        wakes.add(wake);
        return () => wakes.delete(wake);
      };
    },
    /** Wakes all callers that wait in this thread. */
    close(): void {
      for (const own of [...listening.values()]) later(0, () => wakeAll(own));
    },
  };
}
