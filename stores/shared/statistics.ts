/*
 * The statistics of a shared store. Each thread counts on its own, so that counting causes no
 * contention; the counts are summed only when statistics are read.
 */

import type { SteadyTime } from "../../core/steady_time.ts";
import { BLOCK, BUCKET, capacityOf, header, type Memory, SLOTS_PER_BUCKET } from "./layout.ts";
import { counter, countLost, sumCounters } from "./threads/thread.ts";

/** The contents of a shared store, and the events in it, in all threads together. */
export interface SharedStoreStatistics {
  /** Keys that hold use at the given instant; only with the option `full`. */
  readonly liveKeys?: number | undefined;
  /** Keys held. Some of them may be fresh again, and give way to new keys. */
  readonly keys: number;
  /** The most keys that it holds. */
  readonly capacity: number;
  /** Nodes of the arena that windows, logs and long states take, of 128 bytes each. */
  readonly nodes: number;
  /** Nodes that are free. */
  readonly freeNodes: number;
  /** The most nodes that the arena has. */
  readonly maxNodes: number;
  /** Keys inserted. */
  readonly inserted: number;
  /** Keys that were forgotten although they held use. */
  readonly evictions: number;
  /** Evictions, counted above too, that made room in the arena: `maxBytes` is too small. */
  readonly evictionsForNodes: number;
  /**
   * Evictions, counted above too, in a store with fewer than `capacity` keys: all 96 slots that a new
   * key's hash leads to were in use. The chance of that is below one in 10^18 for each new key.
   */
  readonly evictionsForSlots: number;
  /** Keys that were replaced because they were fresh again. */
  readonly dropped: number;
  /** How often a whole bucket was searched because no tag led to the key. */
  readonly probes: number;
  /** Swaps that failed because another thread was faster; the call was decided again. */
  readonly contention: number;
  /** Insertions and batches of other threads that were broken off, and records taken over. */
  readonly takeovers: number;
  /**
   * Records of threads that were ever in use: at most the option `threads`. A thread that attaches
   * first takes a record that was given back or has long been idle. Records of threads that died in
   * the middle of a call are never used again.
   */
  readonly threads: number;
  /** Records, counted above too, whose threads seem to have died: ten seconds in the same call. */
  readonly lostThreads: number;
  /**
   * Attachments and calls that waited some 60 ms because all records were taken: `threads` is too
   * small. The first such wait in each thread prints a warning.
   */
  readonly waits: number;
  /** How often this thread has seen the wall clock step, back or forwards, since it attached. */
  readonly clockSteps: number;
}

/** How statistics are collected. */
export interface StatisticsOptions {
  /** Whether to examine all keys, which is linear in the store's capacity; default false. */
  readonly full?: boolean | undefined;
  /** The instant at which to count live keys; by default the store's time. */
  readonly now?: number | undefined;
}

/** The sums of all threads' counters; with `full`, also figures of the keys in the slots. */
export function statisticsOf(
  memory: Memory,
  time: SteadyTime,
  { full = false, now = time() }: StatisticsOptions,
): SharedStoreStatistics {
  const { ints, lastNode } = memory;
  const capacity = capacityOf(memory);
  const sum = (what: number) => sumCounters(memory, what);
  const nodes = Math.max(0, sum(counter.nodes));
  return {
    keys: Math.max(0, Math.min(Atomics.load(ints, header.keys), capacity)),
    capacity,
    nodes,
    freeNodes: lastNode - nodes,
    maxNodes: lastNode,
    inserted: sum(counter.inserted),
    evictions: sum(counter.evicted) + sum(counter.evictedForNodes) + sum(counter.evictedForSlots),
    evictionsForNodes: sum(counter.evictedForNodes),
    evictionsForSlots: sum(counter.evictedForSlots),
    dropped: sum(counter.dropped),
    probes: sum(counter.scans),
    contention: sum(counter.contention),
    takeovers: sum(counter.takeovers) + sum(counter.aborted),
    threads: Math.min(Atomics.load(ints, header.records), memory.threads),
    lostThreads: countLost(memory),
    waits: sum(counter.waited),
    clockSteps: time.steps(),
    ...(full ? countKeys(memory, now) : {}),
  };
}

function countKeys(
  memory: Memory,
  now: number,
): { readonly keys: number; readonly liveKeys: number } {
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
  return { keys, liveKeys };
}
