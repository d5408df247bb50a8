/** A client that makes others of its kind. */
export interface Duplicated<Client> {
  /** Makes another one with the same options, but for those given. */
  duplicate(overrides?: object): Client;
}

/**
 * The options that a cluster or sentinel client of node-redis was made with, which it hides.
 * `duplicate` hands them to the constructor of what it is called on: here one that returns them, on
 * a duplicate, because the client that was given is not touched.
 */
export function optionsOf<Options>(client: Duplicated<unknown>): Options {
  const { duplicate } = client;
  const twin = handled(client.duplicate() as object);
  Object.setPrototypeOf(twin, { constructor: returnOptions });
  return handled(duplicate.call(twin)) as Options;
}

/** The same; should it be a promise, then one of which nobody misses the rejection. */
function handled<Value>(value: Value): Value {
  Promise.resolve(value).catch(() => {});
  return value;
}

function returnOptions(options: object): object {
  return options;
}
