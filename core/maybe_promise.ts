/** What a store answers at once, or by a promise. */
export type MaybePromise<Value> = Value | PromiseLike<Value>;

/** Whether an answer is still to come. */
export function isPromise<Value>(answer: MaybePromise<Value>): answer is PromiseLike<Value> {
  return typeof (answer as PromiseLike<Value> | undefined)?.then === "function";
}

/** What comes after an answer: at once, or when its promise is kept. */
export function andThen<Value, Result>(
  answer: MaybePromise<Value>,
  then: (value: Value) => Result,
): MaybePromise<Result> {
  return isPromise(answer) ? answer.then(then) : then(answer);
}
