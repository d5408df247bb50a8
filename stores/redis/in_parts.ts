/*
 * A batch of many keys, sent in parts: while the server works at one, the next is made, and while the
 * next is under way, the callers of the first are answered. A batch that goes as a whole has client
 * and server wait for each other by turns, half of the time each.
 *
 * It still is one round trip: the parts are under way together, and the next batch waits for all of
 * them. A key is in one part only, and so are all keys of a call.
 */

import { type Batch, type Part, whole } from "./batch.ts";
import { ALL_ANSWERED, type BatchEnd } from "./batch_end.ts";
import type { Job } from "./job.ts";
import { turn } from "./turn.ts";

/** The fewest keys of a part: each costs a command, a write and a turn of the event loop. */
const LEAST_KEYS = 20;
/** The most parts. */
const MOST_PARTS = 4;

/** Commits a batch part by part, all on their way at the same time. */
export async function inParts(
  batch: Batch,
  commit: (part: Part) => Promise<BatchEnd>,
): Promise<BatchEnd> {
  const parts = split(batch);
  if (parts.length === 1) return await commit(parts[0]!);
  const ends: Promise<BatchEnd>[] = [];
  for (const part of parts) {
    if (ends.length > 0) await turn();
    ends.push(commit(part));
  }
  return (await Promise.all(ends)).reduce(both);
}

/** Parts of about the same number of keys; one where more are not worth it. */
function split(batch: Batch): readonly Part[] {
  const { jobs, cells, asking } = batch;
  const count = Math.min(Math.floor(cells.size / LEAST_KEYS), MOST_PARTS);
  const one = whole(batch);
  if (count < 2 || jobs.some(({ keys }) => keys.length > 1)) return [one];
  const size = Math.ceil(cells.size / count);
  const calls = Array.from({ length: count }, (): Job[] => []);
  for (const job of jobs) calls[Math.floor(job.cell!.place / size)]!.push(job);
  return calls.map((jobs, place) => ({
    jobs,
    cells: one.cells.slice(place * size, (place + 1) * size),
    cellOf: cells,
    asking,
  }));
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
