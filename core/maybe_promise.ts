/*
 * A value, or a promise of it. Limiters and stores made of stores are written once for stores that
 * answer at once and for those that answer by promises; only these functions tell the two apart. A
 * promise is any object with a `then`, so promises of other realms and libraries count.
 */

/** A value at hand, or a promise of it: no promise where the value is known. */
export type MaybePromise<Value> = Value | PromiseLike<Value>;

/** Whether a value is a promise. */
export function isPromise<Value>(value: MaybePromise<Value>): value is PromiseLike<Value> {
  return typeof (value as PromiseLike<Value> | undefined)?.then === "function";
}

/** Continues with a value: at once, or when its promise is fulfilled. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  then: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return isPromise(value) ? value.then(then) : then(value);
}

/** The value of a call, or the value that `recover` makes of its error. */
export function orElse<Value>(
  call: () => MaybePromise<Value>,
  recover: (error: unknown) => MaybePromise<Value>,
): MaybePromise<Value> {
  try {
    const value = call();
    return isPromise(value) ? value.then(undefined, recover) : value;
  } catch (error) {
    return recover(error);
  }
}

/** The value of a call; `end` runs when the call has ended, with or without an error. */
export function andFinally<Value>(
  call: () => MaybePromise<Value>,
  end: () => void,
): MaybePromise<Value> {
  let value: MaybePromise<Value>;
  try {
    value = call();
  } catch (error) {
    end();
    throw error;
  }
  if (isPromise(value)) return Promise.resolve(value).finally(end);
  end();
  return value;
}

/** All values; at once if no value is a promise. */
export function allOf<Value>(
  values: readonly MaybePromise<Value>[],
): MaybePromise<readonly Value[]> {
  for (const value of values) if (isPromise(value)) return Promise.all(values);
  return values as readonly Value[];
}
