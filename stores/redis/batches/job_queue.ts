import { addJob, type Batch, canShare } from "./batch.ts";
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
  /**
   * Takes the next batch: of one slot, or of as many as there is room for, but for a watched one.
   *
   * @param most The most calls of it.
   */
  take(manySlots: boolean, most: number): Batch;
  /** Takes out all calls. */
  takeAll(): Job[];
  /** From now on all calls wait for a connection, if they have not before. */
  markWaiting(now: number): void;
  /** Takes out every call that has waited for a connection since an instant. */
  takeWaitingSince(instant: number): Job[];
}

/** Makes an empty queue. */
export function jobQueue(): JobQueue {
  const slots = new Map<number, Job[]>();
  let size = 0;

  /** Moves calls of one slot to the batch while there is room; answers whether all of them went. */
  function fill(batch: Batch, slot: number, queue: Job[], most: number): boolean {
    let taken = 0;
    for (const job of queue) {
      const full = batch.jobs.length >= most ||
        (batch.jobs.length > 0 && batch.cells.size + countOf(job) > MOST_KEYS);
      const fits = job.asking === batch.asking && job.watched === batch.watched &&
        canShare(batch, job);
      if (full || !fits) break;
      addJob(job, batch);
      taken++;
    }
    size -= taken;
    if (taken > 0) slots.delete(slot);
    if (taken === queue.length) return true;
    // What is left goes behind the other slots, so that none of them starves.
    if (taken > 0) slots.set(slot, queue.slice(taken));
    batch.open = false;
    return false;
  }

  function takeIf(isTaken: (job: Job) => boolean): Job[] {
    const taken: Job[] = [];
    for (const [slot, queue] of [...slots]) {
      const left = queue.filter((job) => !isTaken(job) || !taken.push(job));
      if (left.length === 0) slots.delete(slot);
      else slots.set(slot, left);
    }
    size -= taken.length;
    return taken;
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
    take(manySlots, most) {
      let batch: Batch | undefined;
      for (const [slot, queue] of [...slots]) {
        batch ??= batchFor(queue[0]!);
        if (!fill(batch, slot, queue, Math.min(most, MOST_JOBS)) || !manySlots || batch.watched) {
          break;
        }
      }
      return batch!;
    },
    takeAll: () => takeIf(() => true),
    markWaiting(now) {
      for (const queue of slots.values()) {
        for (const job of queue) if (job.waitsSince === 0) job.waitsSince = now;
      }
    },
    takeWaitingSince: (instant) => takeIf((job) => job.waitsSince <= instant),
  };
}

/** How many keys a call needs. */
function countOf({ several }: Job): number {
  return several === undefined ? 1 : several.keys.length;
}

/** An empty batch for calls like this one. */
function batchFor({ asking, watched }: Job): Batch {
  return { jobs: [], cells: new Map(), asking, watched, open: true };
}
