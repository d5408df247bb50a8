/*
 * A time limit for a promise that cannot be cancelled, such as the answer of a store: the caller
 * moves on, and the late answer is dropped.
 */

import { afterRealTime, type Clock } from "./clock.ts";

/**
 * A promise with a time limit. A later answer is dropped, even if it is an error.
 *
 * @param promise The promise to wait for.
 * @param milliseconds How long to wait; 0 or more.
 * @param late Called at the limit. Its result or error becomes the answer.
 * @param after The function that waits; default is real time.
 */
export function withTimeout<Value>(
  promise: PromiseLike<Value>,
  milliseconds: number,
  late: () => Value,
  after: NonNullable<Clock["after"]> = afterRealTime,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = after(milliseconds, () => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    });
    promise.then((value) => (stop(), resolve(value)), (error) => (stop(), reject(error)));
  });
}
