/**
 * The error for a package whose installed version is too old.
 *
 * @param action The action that fails.
 * @param name The package.
 * @param since The oldest version that works.
 * @param found The installed version, if known.
 */
export function tooOldError(action: string, name: string, since: string, found?: string): Error {
  return new Error(
    `Cannot ${action} as the package ${name} must be version ${since} or later ` +
      `(run npm install ${name}@latest): current value is ${found ?? "an older version"}`,
  );
}
