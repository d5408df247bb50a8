/** The keys of a fake server. */
export interface Keyspace {
  get(key: string): string | undefined;
  /** Keeps a text, for that many milliseconds if they are given. */
  set(key: string, text: string, milliseconds?: number): void;
  /** Keeps a text for as long as the text that it replaces. */
  replace(key: string, text: string): void;
  delete(key: string): boolean;
  /** Milliseconds left to a key: -1 forever, -2 if there is none. */
  timeToLive(key: string): number;
  /** A number that changes when the key does. */
  version(key: string): number;
  keys(): string[];
  clear(): void;
}

/** Makes an empty keyspace. */
export function keyspace(now: () => number): Keyspace {
  const values = new Map<string, { text: string; end: number }>();
  const versions = new Map<string, number>();

  function touch(key: string): void {
    versions.set(key, (versions.get(key) ?? 0) + 1);
  }

  function get(key: string): string | undefined {
    const value = values.get(key);
    if (value === undefined || value.end > now()) return value?.text;
    values.delete(key);
    touch(key);
    return undefined;
  }

  return {
    get,
    set(key, text, milliseconds = Infinity) {
      values.set(key, { text, end: now() + milliseconds });
      touch(key);
    },
    replace(key, text) {
      const end = get(key) === undefined ? Infinity : values.get(key)!.end;
      values.set(key, { text, end });
      touch(key);
    },
    delete(key) {
      const held = get(key) !== undefined;
      values.delete(key);
      if (held) touch(key);
      return held;
    },
    timeToLive(key) {
      if (get(key) === undefined) return -2;
      const { end } = values.get(key)!;
      return end === Infinity ? -1 : end - now();
    },
    version(key) {
      get(key);
      return versions.get(key) ?? 0;
    },
    keys: () => [...values.keys()].filter((key) => get(key) !== undefined),
    clear() {
      for (const key of values.keys()) touch(key);
      values.clear();
    },
  };
}
