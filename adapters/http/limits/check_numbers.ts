/*
 * A hint for users of other libraries, whose middleware has other names for the numbers of a limit.
 */

const NUMBERS = ["windowMs", "window", "timeWindow", "max"];

/**
 * Requires options without another library's names of numbers, and an algorithm to be in a limiter.
 *
 * @throws {TypeError} The error shows how to give the limit.
 */
export function checkNumbers(action: string, options: object): void {
  const given = Object.entries(options)
    .find(([name, value]) =>
      value !== undefined && (NUMBERS.includes(name) || name === "algorithm")
    )?.[0];
  if (given === undefined) return;
  const meant = given === "algorithm"
    ? "limiter, as in { limiter: limiter(algorithm) }"
    : 'limit and period, as in { limit: 100, period: "1m" }';
  throw new TypeError(
    `Cannot ${action} because there is no option "${given}": did you mean ${meant}?`,
  );
}
