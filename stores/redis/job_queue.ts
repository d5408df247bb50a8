import { type Batch, canShare, enlist } from "./batch.ts";
import type { Job } from "./job.ts";

/** The most keys of one batch: one that loses the race is done again as a whole. */
const MOST_KEYS = 128;
/** The most calls of one batch, as stepping them holds up the process. */
export const MOST_JOBS = 1_024;

/** Calls that wait for a node, by hash slot. */
export interface JobQueue {
  readonly size: number;
  /** The call that is next. */
  first(): Job | undefined;
  /** Puts a call at the end. */
  add(job: Job): void;
  /** Puts calls that were tried in vain at the head. */
  addFirst(jobs: readonly Job[]): void;
  /** Takes the next batch: of one slot, or of as many as there is room for, but for a watched one. */
  take(manySlots: boolean): Batch;
  /** Takes out every call that came before an instant. */
  takeOlderThan(instant: number): Job[];
}

/** Makes an empty queue. */
export function jobQueue(): JobQueue {
  const slots = new Map<number, Job[]>();
  let size = 0;

  /** Moves calls of one slot to the batch while there is room; answers whether all of them went. */
  function fill(batch: Batch, slot: number, queue: Job[]): boolean {
    let taken = 0;
    for (const job of queue) {
      const full = batch.jobs.length >= MOST_JOBS ||
        (batch.jobs.length > 0 && batch.cells.size + job.keys.length > MOST_KEYS);
      const fits = job.asking === batch.asking && job.watched === batch.watched &&
        canShare(batch, job);
      if (full || !fits) break;
      enlist(job, batch);
      taken++;
    }
    slots.delete(slot);
    size -= taken;
    // What is left goes behind the other slots, so that none of them starves.
    if (taken === queue.length) return true;
    slots.set(slot, queue.slice(taken));
    batch.open = false;
    return false;
  }

  return {
    get size() {
      return size;
    },
    first() {
      for (const queue of slots.values()) return queue[0];
      return undefined;
    },
    add(job) {
      const queue = slots.get(job.slot);
      if (queue === undefined) slots.set(job.slot, [job]);
      else queue.push(job);
      size++;
    },
    addFirst(jobs) {
      for (const job of jobs.toReversed()) {
        const queue = slots.get(job.slot);
        if (queue === undefined) slots.set(job.slot, [job]);
        else queue.unshift(job);
      }
      size += jobs.length;
    },
    take(manySlots) {
      let batch: Batch | undefined;
      for (const [slot, queue] of [...slots]) {
        batch ??= batchFor(queue[0]!);
        if (!fill(batch, slot, queue) || !manySlots || batch.watched) break;
      }
      return batch!;
    },
    takeOlderThan(instant) {
      const old: Job[] = [];
      for (const [slot, queue] of [...slots]) {
        const young = queue.filter((job) => job.born > instant || !old.push(job));
        if (young.length === 0) slots.delete(slot);
        else slots.set(slot, young);
      }
      size -= old.length;
      return old;
    },
  };
}

/** An empty batch for calls like this one. */
function batchFor({ asking, watched }: Job): Batch {
  return { jobs: [], cells: new Map(), asking, watched, open: true };
}
