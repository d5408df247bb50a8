/** A value at hand, or a promise of it: no promise where the answer is known. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** What comes after a value: at once, or when its promise is kept. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  then: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** All values, at once if none of them is a promise. */
export function allOf<Value>(
  values: readonly MaybePromise<Value>[],
): MaybePromise<readonly Value[]> {
  return values.some((value) => value instanceof Promise)
    ? Promise.all(values)
    : values as readonly Value[];
}
