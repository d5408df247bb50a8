import { withTimeout } from "../../../core/with_timeout.ts";

/** Milliseconds for which a request waits for its key. */
const KEY_WITHIN = 10_000;

/**
 * A key that is waited for, for so long: requests that wait without end fill a server.
 *
 * @throws {Error} If it does not come in time.
 */
export function keyInTime<Key>(key: PromiseLike<Key>, within: number = KEY_WITHIN): Promise<Key> {
  return withTimeout(Promise.resolve(key), within, () => {
    throw new Error(`Cannot limit the rate as key must answer within ${within} ms`);
  });
}
