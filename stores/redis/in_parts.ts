/*
 * A batch of many keys, sent in parts: while the server works at one, the next is made, and while the
 * next is under way, the callers of the first are answered. A batch that goes as a whole has client
 * and server wait for each other by turns, half of the time each.
 *
 * It still is one round trip: the parts are under way together, and the next batch waits for all of
 * them. A key is in one part only, and so are all keys of a call.
 */

import type { Batch } from "./batch.ts";
import { ALL_ANSWERED, type BatchEnd } from "./batch_end.ts";
import type { Cell } from "./cell.ts";
import { turn } from "./turn.ts";

/** The fewest keys of a part: each costs a command, a write and a turn of the event loop. */
const LEAST_KEYS = 20;
/** The most parts. */
const MOST_PARTS = 4;

/** Commits a batch part by part, all on their way at the same time. */
export async function inParts(
  batch: Batch,
  commit: (part: Batch) => Promise<BatchEnd>,
): Promise<BatchEnd> {
  const parts = split(batch);
  if (parts.length === 1) return await commit(batch);
  const ends: Promise<BatchEnd>[] = [];
  for (const part of parts) {
    if (ends.length > 0) await turn();
    ends.push(commit(part));
  }
  return (await Promise.all(ends)).reduce(both);
}

/** Parts of about the same number of keys; the batch itself where it is not worth it. */
function split(batch: Batch): readonly Batch[] {
  const { jobs, cells } = batch;
  const count = Math.min(Math.floor(cells.size / LEAST_KEYS), MOST_PARTS);
  if (count < 2 || jobs.some(({ keys }) => keys.length > 1)) return [batch];
  const parts = Array.from(
    { length: count },
    (): Batch => ({ ...batch, jobs: [], cells: new Map() }),
  );
  const partOf = ({ place }: Cell) => parts[Math.floor(place * count / cells.size)]!;
  for (const cell of cells.values()) partOf(cell).cells.set(cell.key, cell);
  for (const job of jobs) partOf(job.cell!).jobs.push(job);
  return parts;
}

function both(one: BatchEnd, other: BatchEnd): BatchEnd {
  if (other === ALL_ANSWERED) return one;
  return {
    conflicted: [...one.conflicted, ...other.conflicted],
    unapplied: [...one.unapplied, ...other.unapplied],
    unsure: [...one.unsure, ...other.unsure],
    trouble: one.trouble ?? other.trouble,
  };
}
