/** Ends a law unless two values are the same. */
export function expectSame(actual: unknown, expected: unknown, what: string): void {
  if (!Object.is(actual, expected)) throw new Error(`Expected ${what} ${expected}, not ${actual}`);
}

/** Ends a law unless a call throws, or rejects with, an error of these kinds. */
export async function expectError(
  call: () => unknown,
  kinds: readonly (abstract new (...args: never[]) => Error)[],
  what: string,
): Promise<void> {
  let outcome: unknown;
  try {
    await call();
  } catch (error) {
    if (kinds.some((kind) => error instanceof kind)) return;
    outcome = error;
  }
  const names = kinds.map((kind) => kind.name).join(" or ");
  throw new Error(`Expected a ${names} for ${what}`, { cause: outcome });
}
