/** Words: the lock, then a table of hashes; behind them the instants. */
const LOCK = 0;

/**
 * A limit shared between threads, written by hand: a lock by `Atomics.wait`, and a table in shared
 * memory, of GCRA in float milliseconds. It knows keys by their hash alone, forgets no key, and
 * does not grow. A thread that dies while it holds the lock stops all others.
 */
export function lockedMap(memory: SharedArrayBuffer, slots: number, limit: number, period: number) {
  const ints = new Int32Array(memory, 0, 8 + slots);
  const floats = new Float64Array(memory, lengthOf(slots) - 8 * slots, slots);
  const interval = period / limit;

  function lock(): void {
    if (Atomics.compareExchange(ints, LOCK, 0, 1) === 0) return;
    // 2 says that somebody waits, and has to be woken.
    while (Atomics.exchange(ints, LOCK, 2) !== 0) Atomics.wait(ints, LOCK, 2);
  }
  function unlock(): void {
    if (Atomics.exchange(ints, LOCK, 0) === 2) Atomics.notify(ints, LOCK, 1);
  }
  function placeOf(hash: number): number {
    let index = (hash >>> 0) % slots;
    while (ints[8 + index] !== hash && ints[8 + index] !== 0) index = (index + 1) % slots;
    ints[8 + index] = hash;
    return index;
  }
  return {
    consume(key: string): boolean {
      const hash = hashOf(key);
      const now = Date.now();
      lock();
      const index = placeOf(hash);
      const next = Math.max(floats[index]!, now) + interval;
      const isAllowed = next - now <= period;
      if (isAllowed) floats[index] = next;
      unlock();
      return isAllowed;
    },
  };
}

/** Bytes that a table takes. */
export function lengthOf(slots: number): number {
  return 4 * (8 + slots + slots % 2) + 8 * slots;
}

/** FNV-1a of the text's units; never 0, which is an empty slot. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return hash | 0 || 1;
}
