import type { Algorithm } from "../../core/algorithm.ts";

/** The most keys that are remembered. */
const MOST_KEYS = 20_000;
/** The most characters of values that are remembered. */
const MOST_TEXT = 16_000_000;

interface Known {
  readonly text: string;
  readonly state: unknown;
}

/**
 * The values last seen, with the states that they stand for.
 *
 * Never trusted: in watch mode a value that the server holds is looked up here to save its parsing,
 * in cas mode the value seen last is the guess that the server checks. So it may forget anything;
 * when it is full, it forgets what it has known for longest.
 */
export interface KnownValues {
  /** The text last seen under a key; `undefined` if there was none, or it is not known. */
  textOf(key: string): string | undefined;
  /** The state of a text; `undefined` if it is none of the algorithm. */
  stateOf(key: string, text: string, algorithm: Algorithm): unknown;
  /** Remembers what a key holds. */
  learn(key: string, text: string | undefined, state: unknown): void;
  /** How many texts were no states of their algorithm. */
  unreadable(): number;
}

/** Makes the memory of one store. */
export function knownValues(): KnownValues {
  const values = new Map<string, Known>();
  let size = 0;
  let unreadable = 0;

  function learn(key: string, text: string | undefined, state: unknown): void {
    const before = values.get(key);
    if (before !== undefined) size -= sizeOf(key, before.text);
    if (text === undefined) {
      if (before !== undefined) values.delete(key);
      return;
    }
    values.set(key, { text, state });
    size += sizeOf(key, text);
    if (values.size > MOST_KEYS || size > MOST_TEXT) shrink();
  }

  function shrink(): void {
    for (const [oldest, { text }] of values) {
      if (values.size <= MOST_KEYS && size <= MOST_TEXT) return;
      values.delete(oldest);
      size -= sizeOf(oldest, text);
    }
  }

  return {
    textOf: (key) => values.get(key)?.text,
    stateOf(key, text, algorithm) {
      const known = values.get(key);
      if (known !== undefined && known.text === text && known.state !== undefined) {
        return known.state;
      }
      const state = algorithm.codec.decode(text);
      if (state === undefined) unreadable++;
      return state;
    },
    learn,
    unreadable: () => unreadable,
  };
}

function sizeOf(key: string, text: string): number {
  return key.length + text.length;
}
