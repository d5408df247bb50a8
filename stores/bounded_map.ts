/** A map that holds at most so many keys: a new one takes the place of the one added first. */
export interface BoundedMap<Value> {
  readonly size: number;
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  clear(): void;
}

/** Makes an empty map. */
export function boundedMap<Value>(maxKeys: number): BoundedMap<Value> {
  const values = new Map<string, Value>();
  return {
    get size() {
      return values.size;
    },
    get: (key) => values.get(key),
    set(key, value) {
      values.set(key, value);
      if (values.size <= maxKeys) return;
      for (const oldest of values.keys()) {
        values.delete(oldest);
        return;
      }
    },
    delete: (key) => void values.delete(key),
    clear: () => values.clear(),
  };
}
