import { afterRealTime, type Clock } from "./clock.ts";

/**
 * A promise with a time limit. What it answers later is dropped, an error included.
 *
 * @param promise What is waited for.
 * @param milliseconds How long; 0 or more.
 * @param late Called at the limit: what it returns or throws is the answer then.
 * @param after Lets the time pass; in real time without it.
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
