/*
 * A hint for users of other libraries, whose middleware takes the numbers of a limit itself.
 */

const NUMBERS = ["windowMs", "window", "timeWindow", "max", "limit", "period", "algorithm"];

/**
 * Requires options without the numbers of a limit, and an algorithm to be in a limiter.
 *
 * @throws {TypeError} The error shows how to give a limiter.
 */
export function checkNumbers(action: string, options: object): void {
  const given = Object.entries(options)
    .find(([name, value]) => value !== undefined && NUMBERS.includes(name))?.[0];
  if (given === undefined) return;
  throw new TypeError(
    `Cannot ${action} because there is no option "${given}": did you mean limiter, ` +
      'as in { limiter: limiter(gcra({ limit: 100, period: "1m", burst: 100 })) }?',
  );
}
