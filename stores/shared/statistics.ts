import { BLOCK, BUCKET, header, type Memory, SLOTS_PER_BUCKET } from "./layout.ts";
import { counter, sumCounters } from "./threads/thread.ts";

/** What a shared store holds, and what happened to it, in all threads together. */
export interface SharedStoreStatistics {
  /** Keys that hold use at the instant given. */
  readonly liveKeys: number;
  /** Keys held; those that are not live are fresh again and give way to new ones. */
  readonly keys: number;
  /** The most keys that it holds. */
  readonly capacity: number;
  /** Nodes of 128 bytes that windows, logs and long states have taken from the arena so far. */
  readonly nodes: number;
  /** The most nodes that the arena has. */
  readonly maxNodes: number;
  /** Keys inserted. */
  readonly inserted: number;
  /** Keys that were forgotten although they held use. */
  readonly evictions: number;
  /** Keys that gave way as they were fresh again. */
  readonly dropped: number;
  /** Times that a whole bucket was looked through, as no tag led to the key. */
  readonly probes: number;
  /** Swaps that failed as another thread was faster; the call was decided again. */
  readonly contention: number;
  /** Insertions and batches of other threads that were broken off, and records taken over. */
  readonly takeovers: number;
  /**
   * Records of threads that were ever in use: at most the option `threads`. A thread that attaches
   * takes one that was given back or is idle for long, if there is one; those of threads that died
   * in the middle of a call are never used again.
   */
  readonly threads: number;
}

/** Counts what the store holds at `now`; linear in its capacity. */
export function statisticsOf(memory: Memory, now: number): SharedStoreStatistics {
  const { ints, floats, buckets, bucketMask, blocks, blockMask, lastBlock } = memory;
  let keys = 0;
  let liveKeys = 0;
  for (let line = buckets; line <= buckets + bucketMask * BUCKET; line += BUCKET) {
    for (let slot = line; slot < line + SLOTS_PER_BUCKET; slot++) {
      const block = ints[slot]! & blockMask;
      if (block === 0) continue;
      keys++;
      if (block > lastBlock || floats[(blocks + block * BLOCK) / 2 + 1]! > now) liveKeys++;
    }
  }
  return {
    liveKeys,
    keys,
    capacity: memory.capacity,
    nodes: Math.min(Atomics.load(ints, header.nodeCount), memory.lastNode),
    maxNodes: memory.lastNode,
    inserted: sumCounters(memory, counter.inserted),
    evictions: sumCounters(memory, counter.evicted),
    dropped: sumCounters(memory, counter.dropped),
    probes: sumCounters(memory, counter.scans),
    contention: sumCounters(memory, counter.contention),
    takeovers: sumCounters(memory, counter.takenOver) + sumCounters(memory, counter.aborted),
    threads: Math.min(Atomics.load(ints, header.records), memory.threads),
  };
}
