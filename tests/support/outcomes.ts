/** How a call ended: `"admitted"`, or the name of its error. */
export function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.then(() => "admitted", (error) => error.name);
}

/**
 * The outcomes of calls that have ended, and `"pending"` of the others: a test that waits for a call
 * would hang where it should fail.
 */
export async function settledOf(calls: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  return Promise.all(calls.map((call) => Promise.race([call, Promise.resolve("pending")])));
}
