/** Makes a value when it is first needed. */
export function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => made ??= make();
}
