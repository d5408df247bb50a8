/** A value at hand, or a promise of it: no promise where the answer is known. */
export type Soon<Value> = Value | Promise<Value>;

/** What comes after a value: at once, or when its promise is kept. */
export function after<Value, Next>(
  value: Soon<Value>,
  then: (value: Value) => Soon<Next>,
): Soon<Next> {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** All values, at once if none of them is a promise. */
export function together<Value>(values: readonly Soon<Value>[]): Soon<readonly Value[]> {
  return values.some((value) => value instanceof Promise)
    ? Promise.all(values)
    : values as readonly Value[];
}
