import { fnv1a } from "../../fnv1a.ts";
import type { Batcher } from "../batches/batcher.ts";

/**
 * Several batchers side by side, each with a connection and a batch of its own: while the server
 * works on one batch, the process prepares another. A key is always the same one's, so that they
 * do not race each other for it.
 */
export function batcherPool(count: number, make: () => Batcher): Batcher {
  const batchers = Array.from({ length: count }, make);
  if (count === 1) return batchers[0]!;
  return {
    submit: (job) => batchers[indexOf(job.key, count)]!.submit(job),
    isIdle: () => batchers.every((each) => each.isIdle()),
    close: () => batchers.forEach((each) => each.close()),
  };
}

/** Which batcher has a key; the upper bits are mixed in, as those of FNV-1a are the better ones. */
function indexOf(key: string, count: number): number {
  const hash = fnv1a(key);
  return ((hash ^ (hash >>> 15)) >>> 0) % count;
}
