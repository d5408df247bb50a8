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

/** A place by the characters of a key (FNV-1a). */
function indexOf(key: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < key.length; place++) {
    hash = Math.imul(hash ^ key.charCodeAt(place), 0x01000193);
  }
  return ((hash ^ (hash >>> 15)) >>> 0) % count;
}
