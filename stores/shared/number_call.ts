import type { Decision } from "../../core/decision.ts";
import type { PreparedCall } from "../../core/store.ts";
import type { DecideOn, Stepper } from "./decide_on.ts";
import {
  BLOCK,
  BUCKET,
  CALLS,
  COUNTERS,
  HEAD,
  OWNER,
  RING,
  RING_SIZE,
  SLOTS_PER_BUCKET,
  TAGS,
  TAIL,
  VETTED,
} from "./layout.ts";
import { type HashStart, hashText } from "./table/hash.ts";
import type { ThreadView } from "./thread_view.ts";
import { counter } from "./threads/thread_record.ts";

/**
 * The prepared call of an algorithm whose states are one number each: what `decideOn` and `table.ts`
 * do for a key that is there, written out as one function that is closed over all it needs, as it is
 * the fastest so. What is not plain is left to `decideOn`: a new key, a key that a batch holds, a
 * thread without a record, a race lost.
 */
export function numberCall(
  view: ThreadView,
  decideOn: DecideOn,
  stepper: Stepper,
  keys: HashStart,
): PreparedCall<Decision> {
  const { memory, thread, spares } = view;
  const { ints, floats, bytes, buckets, bucketMask, blocks, blockMask, lastBlock } = memory;
  const versionOne = (blockMask + 1) | 0;
  const { halves: { take, decide }, initial } = stepper;
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
    const { record, announced } = thread;
    const bucket = buckets + ((low >>> 4) & bucketMask) * BUCKET;
    const tags = bucket * 4 + TAGS;
    const tag = (high >>> 25) + 1;
    // Nothing is announced in a record that has changed hands, or in which a call was cut short.
    if (ints[record + OWNER] !== thread.owner || ints[announced] !== 0) {
      return decideOn(stepper, low, high, cost, dry, now);
    }
    try {
      for (let place = 0; place < SLOTS_PER_BUCKET; place++) {
        if (bytes[tags + place] !== tag) continue;
        const slot = bucket + place;
        const word = ints[slot]!;
        const block = word & blockMask;
        if (block === 0 || block > lastBlock) break;
        ints[announced] = word;
        if (ints[slot] !== word || ints[record + OWNER] !== thread.owner) break;
        const start = blocks + block * BLOCK;
        if (ints[start] !== low || ints[start + 1] !== high) continue;
        const state = floats[(start >> 1) + 2]!;
        ints[record + CALLS]!++;
        const next = take(state, now, cost);
        const decision = decide(state, next, now, cost);
        if (next === state || dry) return decision;
        const head = ints[record + HEAD]!;
        const spare = head === ints[record + VETTED]
          ? spares.spare()
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
    return decideOn(stepper, low, high, cost, dry, now);
  };
}
