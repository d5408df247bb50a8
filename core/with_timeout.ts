/**
 * A promise with a time limit. What it answers later is dropped, an error included.
 *
 * @param promise What is waited for.
 * @param milliseconds How long, in real time.
 * @param late Called at the limit: what it returns or throws is the answer then.
 */
export function withTimeout<Value>(
  promise: PromiseLike<Value>,
  milliseconds: number,
  late: () => Value,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    }, milliseconds);
    const settled = () => clearTimeout(timer);
    promise.then((value) => (settled(), resolve(value)), (error) => (settled(), reject(error)));
  });
}
