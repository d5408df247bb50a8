/** A client that makes others of its kind. */
export interface Duplicated<Client> {
  /** Makes another client with the same options, except those given. */
  duplicate(overrides?: object): Client;
}

/**
 * The options with which a cluster or sentinel client of node-redis was made. The client hides them,
 * but `duplicate` hands them to its object's constructor. So this function makes a duplicate, replaces
 * its constructor by one that returns the options, and duplicates it again. The given client is not
 * touched.
 */
export function optionsOf<Options>(client: Duplicated<unknown>): Options {
  const { duplicate } = client;
  const twin = handled(client.duplicate() as object);
  Object.setPrototypeOf(twin, { constructor: returnOptions });
  return handled(duplicate.call(twin)) as Options;
}

/** Returns the value. If it is a promise, its rejection counts as handled. */
function handled<Value>(value: Value): Value {
  Promise.resolve(value).catch(() => {});
  return value;
}

function returnOptions(options: object): object {
  return options;
}
