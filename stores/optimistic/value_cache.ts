/** About how many bytes an entry takes beside its texts. */
const ENTRY = 200;

/** A value last seen. */
export interface CachedValue {
  readonly text: string;
  /** The state that it stands for; `undefined` if it was not read yet. */
  readonly state: unknown;
  /** The instant until which the server keeps it, by its clock; 0 if that is not known. */
  readonly keptUntil: number;
}

/** The values last seen of one server. */
export interface ValueCache {
  /** Whether nothing is known. */
  isEmpty(): boolean;
  /** The value last seen under a key; `undefined` if there was nothing, or it is not known. */
  get(key: string): CachedValue | undefined;
  /** Remembers what a key holds. */
  set(key: string, text: string | undefined, state: unknown, keptUntil: number): void;
}

/**
 * Makes the cache of one server, of so many bytes at most: the values last seen, with the states that
 * they stand for.
 *
 * Never trusted: in watch mode a value that the server holds is looked up here to save its parsing,
 * in cas mode the value seen last is the guess that the server checks. So it may forget anything;
 * when it is full, it forgets what it has known for longest.
 */
export function valueCache(mostBytes: number): ValueCache {
  // Changed in place: a new object for each decision is one more that the collector has to move.
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

  return { isEmpty: () => values.size === 0, get: (key) => values.get(key), set };
}

function sizeOf(key: string, text: string): number {
  return key.length + text.length + ENTRY;
}
