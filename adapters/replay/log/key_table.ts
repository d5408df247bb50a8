/*
 * Keys by their bytes: a hash table over one array of bytes, so that a client that was seen before
 * costs no string.
 *
 * Keys come from attackers. The hash has a seed, and after a bounded number of tries a key goes to
 * a `Map`, whose hashes nobody can foresee.
 */

/** Ids of keys, by their bytes. */
export interface KeyTable {
  /** The id of a key, counted from 0; `NOBODY` if it is empty, `TOO_LONG` if it is too long. */
  idOf(bytes: Uint8Array, from: number, to: number): number;
  /** The id of a key given as text. */
  idOfText(text: string): number;
  /** The text of a key. */
  textOf(id: number): string;
  /** The number of the client with a key. */
  clientOf(id: number): number;
  /** Whether a key is a proxy's address, or nothing but such addresses. */
  isProxy(id: number): boolean;
  /** Forgets all keys if they take too much memory. */
  forgetIfLarge(): void;
}

/** Numbers of clients. */
export interface Clients {
  /** The number of the client with a key; asked at its first request, and after keys were forgotten. */
  numberOf(key: string): number;
  /** Called when keys are forgotten, so that their numbers are needed no more. */
  forget(): void;
}

/** The id of no client. */
export const NOBODY = -1;
/** The id of a client whose name is too long. */
export const TOO_LONG = -2;

/** The longest key in bytes, or as text in characters. */
export const LONGEST_KEY = 1_024;

const MAX_TRIES = 32;
const MAX_KEYS = 1 << 18;
const MAX_BYTES = 1 << 25;

/** Words of a slot: an id plus 1, or 0 if it is empty; its hash; where its bytes lie. */
const WORDS = 4;

/** Makes a table without keys; `isProxy` is asked once about each key. */
export function keyTable(
  { numberOf, forget }: Clients,
  isProxy: (key: string) => boolean = () => false,
): KeyTable {
  const seed = Math.floor(Math.random() * 2 ** 32) | 0;
  const decoder = new TextDecoder();
  const texts = new Map<string, number>();
  let names: string[] = [];
  let numbers: number[] = [];
  let proxies: boolean[] = [];
  let slots = new Int32Array(WORDS << 10);
  let kept = 0;
  let arena = new Uint8Array(1 << 14);
  let used = 0;

  function idOf(bytes: Uint8Array, from: number, to: number): number {
    const length = to - from;
    if (length === 0) return NOBODY;
    if (length > LONGEST_KEY) return TOO_LONG;
    let hash = seed;
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    hash ^= hash >>> 15;
    // Names of their own: what a closure may change is loaded anew at each use.
    const words = slots;
    const known = arena;
    const last = words.length - WORDS;
    for (let tries = 0, slot = hash * WORDS & last; tries < MAX_TRIES; tries++) {
      if (words[slot] === 0) return add(bytes, from, to, hash, slot);
      if (words[slot + 1] === hash && words[slot + 3] === length) {
        const start = words[slot + 2]!;
        let at = 0;
        while (at < length && known[start + at] === bytes[from + at]) at++;
        if (at === length) return words[slot]! - 1;
      }
      slot = (slot + WORDS) & last;
    }
    return idOfText(decoder.decode(bytes.subarray(from, to)));
  }

  function add(bytes: Uint8Array, from: number, to: number, hash: number, slot: number): number {
    const id = idOfText(decoder.decode(bytes.subarray(from, to)));
    if (id < 0) return id;
    if (used + to - from > arena.length) {
      const before = arena;
      arena = new Uint8Array(2 * before.length);
      arena.set(before);
    }
    arena.set(bytes.subarray(from, to), used);
    slots.set([id + 1, hash, used, to - from], slot);
    used += to - from;
    if (++kept * 2 * WORDS > slots.length) grow();
    return id;
  }

  function grow(): void {
    const before = slots;
    slots = new Int32Array(2 * before.length);
    const last = slots.length - WORDS;
    for (let from = 0; from < before.length; from += WORDS) {
      if (before[from] === 0) continue;
      let slot = before[from + 1]! * WORDS & last;
      while (slots[slot] !== 0) slot = (slot + WORDS) & last;
      slots.set(before.subarray(from, from + WORDS), slot);
    }
  }

  function idOfText(text: string): number {
    if (text === "") return NOBODY;
    if (text.length > LONGEST_KEY) return TOO_LONG;
    let id = texts.get(text);
    if (id === undefined) {
      id = texts.size;
      texts.set(text, id);
      names.push(text);
      numbers.push(NOBODY);
      proxies.push(isProxy(text));
    }
    return id;
  }

  return {
    idOf,
    idOfText,
    textOf: (id) => names[id]!,
    clientOf(id) {
      // Only now, because a proxy's address is a key, too, and no client.
      if (numbers[id] === NOBODY) numbers[id] = numberOf(names[id]!);
      return numbers[id]!;
    },
    isProxy: (id) => proxies[id]!,
    forgetIfLarge() {
      if (texts.size < MAX_KEYS && used < MAX_BYTES) return;
      kept = used = 0;
      slots.fill(0);
      texts.clear();
      names = [];
      numbers = [];
      proxies = [];
      forget();
    },
  };
}
