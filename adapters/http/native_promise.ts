/*
 * Stores may answer with any object that has a `then`. Servers and frameworks expect native
 * promises, so answers are converted.
 */

import { isPromise, type MaybePromise } from "../../core/maybe_promise.ts";
import type { Awaitable } from "./gate/rate_limit_options.ts";

/** A value, or a native promise of it. */
export function nativePromise<Value>(value: MaybePromise<Value>): Awaitable<Value> {
  return isPromise(value) ? Promise.resolve(value) : value;
}
