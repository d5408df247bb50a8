import { isPromise, type MaybePromise } from "../../core/maybe_promise.ts";

/**
 * What follows from a value, at once or later. As core's `andThen`, but what it returns is a promise
 * of the runtime's own, which callers of ours may expect, whoever made the promise at hand.
 */
export function chain<Value, Next>(
  value: MaybePromise<Value>,
  step: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return isPromise(value) ? Promise.resolve(value).then(step) : step(value);
}
