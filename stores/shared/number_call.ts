import type { Algorithm, Halves } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { halvesOf } from "../../core/algorithms/halves_of.ts";
import type { PreparedCall } from "../../core/store.ts";
import { type HashStart, hashText } from "./table/hash.ts";
import {
  BLOCK,
  BUCKET,
  CALLS,
  COUNTERS,
  HEAD,
  type Memory,
  OWNER,
  RING,
  RING_SIZE,
  SLOTS_PER_BUCKET,
  TAGS,
  TAIL,
  VETTED,
} from "./layout.ts";
import { counter } from "./threads/thread_record.ts";
import type { Thread } from "./threads/thread.ts";

/** The record of the calling thread, as it is now. */
export interface Caller {
  readonly record: number;
  readonly owner: number;
  readonly thread: Thread;
}

/** A call the long way round. */
export type GeneralCall = (
  low: number,
  high: number,
  cost: number,
  dry: boolean,
  now: number,
) => Decision;

/**
 * The lane of an algorithm whose states are one number each: what `table` and `open_store` do for
 * a key that is there, written out as one function. What is not plain is left to `slow`: a new key,
 * a key that a batch holds, a thread without a record, a race lost.
 */
export function numberCall(
  memory: Memory,
  caller: Caller,
  algorithm: Algorithm,
  keys: HashStart,
  slow: GeneralCall,
): PreparedCall<Decision> {
  const { ints, floats, bytes, buckets, bucketMask, blocks, blockMask, lastBlock } = memory;
  const versionOne = (blockMask + 1) | 0;
  const { take, decide } = halvesOf(algorithm) as Halves<unknown>;
  const { initial } = algorithm;
  const fingerprint = new Int32Array(2);
  let lastKey = "";

  return function decideOne(key, cost, dry, at) {
    const now = at === undefined ? Date.now() : at;
    if (key !== lastKey) {
      hashText(keys, key, fingerprint);
      lastKey = key;
    }
    const low = fingerprint[0]! & ~3;
    const high = fingerprint[1]!;
    const { record, thread: { announced } } = caller;
    const line = buckets + ((low >>> 4) & bucketMask) * BUCKET;
    const tags = line * 4 + TAGS;
    const tag = (high >>> 25) + 1;
    // Nothing is announced in a record that has changed hands, or in which a call was cut short.
    if (ints[record + OWNER] !== caller.owner || ints[announced] !== 0) {
      return slow(low, high, cost, dry, now);
    }
    try {
      for (let place = 0; place < SLOTS_PER_BUCKET; place++) {
        if (bytes[tags + place] !== tag) continue;
        const slot = line + place;
        const word = ints[slot]!;
        const block = word & blockMask;
        if (block === 0 || block > lastBlock) break;
        ints[announced] = word;
        if (ints[slot] !== word || ints[record + OWNER] !== caller.owner) break;
        const start = blocks + block * BLOCK;
        if (ints[start] !== low || ints[start + 1] !== high) continue;
        const state = floats[(start >> 1) + 2]!;
        ints[record + CALLS]!++;
        const next = take(state, now, cost);
        const decision = decide(state, next, now, cost);
        if (next === state || dry) return decision;
        const head = ints[record + HEAD]!;
        const spare = head === ints[record + VETTED]
          ? caller.thread.spare()
          : ints[record + RING + (head & (RING_SIZE - 1))]!;
        const to = blocks + spare * BLOCK;
        ints[to] = low;
        ints[to + 1] = high;
        floats[(to >> 1) + 1] = next === initial ? 0 : now + decision.resetAfter;
        floats[(to >> 1) + 2] = next as number;
        const changed = (((word & ~blockMask) + versionOne) | 0) | spare;
        // Taken before it is known to be spent: a call that is cut short may lose a block, no more.
        ints[record + HEAD]!++;
        if (Atomics.compareExchange(ints, slot, word, changed) !== word) {
          ints[record + HEAD]!--;
          ints[record + COUNTERS + counter.contention]!++;
          break;
        }
        const tail = ints[record + TAIL]!;
        ints[record + RING + (tail & (RING_SIZE - 1))] = block;
        ints[record + TAIL] = tail + 1;
        return decision;
      }
    } finally {
      ints[announced] = 0;
    }
    return slow(low, high, cost, dry, now);
  };
}
