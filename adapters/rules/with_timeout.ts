/** What a promise is kept with, or an error if that takes too long; what comes later is not heard. */
export function withTimeout<Value>(
  promise: Promise<Value>,
  milliseconds: number,
  action: string,
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout>;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`Cannot ${action} as it took over ${milliseconds} ms`));
    }, milliseconds);
  });
  return Promise.race([promise, over]).finally(() => clearTimeout(timer));
}
