/*
 * Keys by their bytes: a hash table over one array of bytes, so that a client that was seen before
 * costs no string.
 *
 * Keys come from attackers. The hash has a seed, and after a bounded number of tries a key goes to
 * a `Map`, whose hashes nobody can foresee.
 */

/** Ids of keys, by their bytes. */
export interface KeyTable {
  /** The id of a key, counted from 0; -1 if it is empty or too long. */
  idOf(bytes: Uint8Array, from: number, to: number): number;
  /** The id of a key given as text. */
  idOfText(text: string): number;
  /** The keys that are new since it was asked last. */
  takeNew(): string[];
  /** Forgets all keys once they take too much memory; ids then count from 0 again. */
  forgetIfLarge(): boolean;
}

/** The longest key in bytes, or as text in characters. */
export const LONGEST_KEY = 1_024;

const MOST_TRIES = 32;
const MOST_KEYS = 1 << 18;
const MOST_BYTES = 1 << 25;

/** Makes a table without keys. */
export function keyTable(): KeyTable {
  const seed = Math.floor(Math.random() * 2 ** 32) | 0;
  const decoder = new TextDecoder();
  let count = 0;
  let used = 0;
  let arena = new Uint8Array(1 << 16);
  let hashes = new Int32Array(1 << 10);
  let starts = new Int32Array((1 << 10) + 1);
  let ids = new Int32Array(1 << 10);
  /** Ids in a row, by hash; id + 1, or 0 where there is none. */
  let slots = new Int32Array(1 << 11);
  /** Bytes kept, one entry for each key in the table; those of `texts` are not. */
  let kept = 0;
  const texts = new Map<string, number>();
  let fresh: string[] = [];

  function idOf(bytes: Uint8Array, from: number, to: number): number {
    if (to === from || to - from > LONGEST_KEY) return -1;
    let hash = seed;
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    hash ^= hash >>> 15;
    const mask = slots.length - 1;
    for (let tries = 0, slot = hash & mask; tries < MOST_TRIES; tries++) {
      const entry = slots[slot]! - 1;
      if (entry === -1) return add(bytes, from, to, hash);
      if (hashes[entry] === hash && isKey(entry, bytes, from, to)) return ids[entry]!;
      slot = (slot + 1) & mask;
    }
    return idOfText(decoder.decode(bytes.subarray(from, to)));
  }

  function isKey(entry: number, bytes: Uint8Array, from: number, to: number): boolean {
    let at = starts[entry]!;
    if (starts[entry + 1]! - at !== to - from) return false;
    while (from < to) if (arena[at++] !== bytes[from++]) return false;
    return true;
  }

  function add(bytes: Uint8Array, from: number, to: number, hash: number): number {
    const id = idOfText(decoder.decode(bytes.subarray(from, to)));
    if (kept === hashes.length) grow();
    if (used + to - from > arena.length) {
      arena = widened(arena, new Uint8Array(2 * (arena.length + to - from)));
    }
    arena.set(bytes.subarray(from, to), used);
    used += to - from;
    hashes[kept] = hash;
    ids[kept] = id;
    starts[++kept] = used;
    place(hash, kept);
    return id;
  }

  function place(hash: number, entry: number): void {
    const mask = slots.length - 1;
    let free = hash & mask;
    while (slots[free] !== 0) free = (free + 1) & mask;
    slots[free] = entry;
  }

  function grow(): void {
    const size = 2 * hashes.length;
    hashes = widened(hashes, new Int32Array(size));
    ids = widened(ids, new Int32Array(size));
    starts = widened(starts, new Int32Array(size + 1));
    slots = new Int32Array(2 * size);
    for (let entry = 0; entry < kept; entry++) place(hashes[entry]!, entry + 1);
  }

  function idOfText(text: string): number {
    if (text === "" || text.length > LONGEST_KEY) return -1;
    let id = texts.get(text);
    if (id === undefined) {
      id = count++;
      texts.set(text, id);
      fresh.push(text);
    }
    return id;
  }

  return {
    idOf,
    idOfText,
    takeNew() {
      const taken = fresh;
      fresh = [];
      return taken;
    },
    forgetIfLarge() {
      if (count < MOST_KEYS && used < MOST_BYTES) return false;
      count = kept = used = 0;
      slots.fill(0);
      texts.clear();
      return true;
    },
  };
}

function widened<Values extends Int32Array | Uint8Array>(values: Values, wider: Values): Values {
  wider.set(values);
  return wider;
}
