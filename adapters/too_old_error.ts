/**
 * The error of a package that the application has in a version too old for what it is to do.
 *
 * @param action What cannot be done.
 * @param name The package.
 * @param since The first version that will do.
 * @param found The version that is there, as far as it is known.
 */
export function tooOldError(action: string, name: string, since: string, found?: string): Error {
  return new Error(
    `Cannot ${action} as the package ${name} must be version ${since} or later ` +
      `(run npm install ${name}@latest): current value is ${found ?? "an older version"}`,
  );
}
