import { isPromise, type MaybePromise } from "../../core/maybe_promise.ts";
import type { Awaitable } from "./gate/rate_limit_options.ts";

/** A value, or a promise of the runtime's own, which servers and frameworks expect. */
export function nativePromise<Value>(value: MaybePromise<Value>): Awaitable<Value> {
  return isPromise(value) ? Promise.resolve(value) : value;
}
