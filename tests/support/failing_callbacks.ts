/** The error that the callbacks of these tests throw, or reject with. */
export const FAILURE: Error = new Error("the database is down");

/** Ways in which a callback fails. */
export const WAYS_TO_FAIL: Readonly<Record<string, () => never>> = {
  throws() {
    throw FAILURE;
  },
  rejects: () => Promise.reject(FAILURE) as never,
  "rejects later": (async () => {
    await turn();
    throw FAILURE;
  }) as unknown as () => never,
  "answers by a promise of another making, which rejects": () => {
    const then: PromiseLike<never>["then"] = (kept, broken) =>
      Promise.reject(FAILURE).then(kept, broken);
    return { then } as never;
  },
};

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/**
 * When callbacks have failed, and what is called with that has failed, too. Timers of one length end in
 * the order in which they were set, so a few turns are enough.
 */
export async function failed(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await turn();
}

/** The calls of `console.error` during some work, and after it. */
export async function printedBy(work: () => unknown): Promise<unknown[][]> {
  const printed: unknown[][] = [];
  const { error } = console;
  console.error = (...items: unknown[]) => void printed.push(items);
  try {
    await work();
    await failed();
  } finally {
    console.error = error;
  }
  return printed;
}
