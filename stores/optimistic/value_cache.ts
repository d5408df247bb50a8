import type { Cell, SeenValue } from "../stepping/cell.ts";

/** The bytes that an entry takes beside its texts, roughly. */
const ENTRY = 200;

/** The last seen values of one server. */
export interface ValueCache {
  /** Whether no value is known. */
  isEmpty(): boolean;
  /** The last seen value of a key; `undefined` if it had none, or if it is not known. */
  get(key: string): SeenValue | undefined;
  /** Remembers the value of a key; `undefined` for none. */
  set(key: string, text: string | undefined, state: unknown, keptUntil: number): void;
  /** Remembers the value that a cell has once it is committed. */
  remember(cell: Cell): void;
}

/**
 * Makes the cache of one server, of at most `mostBytes` bytes. It holds the values last seen, with
 * their states.
 *
 * Nobody trusts it. In watch mode it only saves parsing a value that the server has sent. In cas mode
 * its value is a guess, which the server checks. So it may forget anything. When it is full, it
 * forgets its oldest entries.
 */
export function valueCache(mostBytes: number): ValueCache {
  // Change the entry in place, because the collector would have to move a new object for each
  // decision.
  const values = new Map<string, { text: string; state: unknown; keptUntil: number }>();
  let size = 0;

  function set(key: string, text: string | undefined, state: unknown, keptUntil: number): void {
    const value = values.get(key);
    if (value !== undefined) size -= sizeOf(key, value.text);
    if (text === undefined) {
      if (value !== undefined) values.delete(key);
      return;
    }
    if (value === undefined) values.set(key, { text, state, keptUntil });
    else {
      value.text = text;
      value.state = state;
      value.keptUntil = keptUntil;
    }
    size += sizeOf(key, text);
    if (size > mostBytes) shrink();
  }

  function shrink(): void {
    for (const [oldest, { text }] of values) {
      if (size <= mostBytes) return;
      values.delete(oldest);
      size -= sizeOf(oldest, text);
    }
  }

  return {
    isEmpty: () => values.size === 0,
    get: (key) => values.get(key),
    remember: ({ name, next, state, keptUntil }) => set(name, next, state, keptUntil),
    set,
  };
}

function sizeOf(key: string, text: string): number {
  return key.length + text.length + ENTRY;
}
