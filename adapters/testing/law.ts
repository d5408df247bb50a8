/*
 * A law is a named fast-check property that runs under any test runner. All laws are made here, so
 * this file also rejects a fast-check that is too old for them.
 */

import fc from "fast-check";

import { tooOldError } from "../optional_packages/too_old_error.ts";

if (typeof fc.stringMatching !== "function") {
  throw tooOldError("use tidegate/testing", "fast-check", "3.10", fc.__version);
}

/**
 * A named property: something that holds for every random case, with a readable counterexample if
 * it does not.
 *
 * @example Under any runner
 * ```ts
 * import { gcra } from "tidegate";
 * import { algorithmLaws } from "tidegate/testing";
 *
 * for (const law of algorithmLaws(gcra({ limit: 100, period: "1m", burst: 20 }))) {
 *   law.run({ numRuns: 20 }); // in a test: test(law.name, () => law.run())
 * }
 * ```
 */
export interface Law {
  /** The statement that holds, in words. */
  readonly name: string;
  /** The property, for `fc.assert`, `fc.check` or `fc.sample`. */
  readonly property: fc.IRawProperty<unknown, boolean>;
  /**
   * Runs the property; `fc.assert` with the property filled in.
   *
   * @param parameters fast-check's: `numRuns`, `seed`, `path`, ...
   * @returns A promise if the property is asynchronous.
   * @throws {Error} With the law's name, the calls of the smallest counterexample as a table, and
   * what fast-check says: the seed and the path. A `reporter` of yours says what it likes instead.
   */
  run(parameters?: fc.Parameters<unknown>): void | Promise<void>;
}

/**
 * Names a property.
 *
 * @param name The law in words.
 * @param property The property.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { law } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * const bursts = fc.integer({ min: 1, max: 100 });
 * law("capacity is the burst", fc.property(bursts, (burst) => {
 *   return gcra({ limit: 5, period: "1s", burst }).capacity === burst;
 * })).run();
 * ```
 */
export function law<Case>(name: string, property: fc.IRawProperty<Case, boolean>): Law {
  function run(parameters: fc.Parameters<unknown> = {}): void | Promise<void> {
    const checked = () => fc.assert(property, parameters as fc.Parameters<Case>);
    const { reporter, asyncReporter } = parameters;
    return reporter || asyncReporter ? checked() : namingFailures(name, checked);
  }
  return { name, property: property as fc.IRawProperty<unknown, boolean>, run };
}

/** Adds to what a failed run says which law failed and, where fast-check only has it as a cause, why. */
function namingFailures(name: string, run: () => unknown): void | Promise<void> {
  const fail = (error: unknown): never => {
    const { message = String(error), cause } = error as Partial<Error>;
    const reason = cause instanceof Error ? cause.message : String(cause ?? "");
    const parts = message.includes(reason) ? [name, message] : [name, reason, message];
    throw new Error(parts.join("\n\n"), { cause: cause ?? error });
  };
  return orFail(run, fail);
}

function orFail(run: () => unknown, fail: (error: unknown) => never): void | Promise<void> {
  try {
    const running = run();
    return running instanceof Promise ? running.catch(fail) : undefined;
  } catch (error) {
    return fail(error);
  }
}

/**
 * Laws in an order in which an earlier one may be the cause of a later one. If both fail, the later one
 * names the earlier one, which is to be fixed first.
 */
export function inOrder(laws: readonly Law[]): readonly Law[] {
  const failed: boolean[] = [];
  return laws.map((one, index) => {
    const fail = (error: unknown): never => {
      failed[index] = true;
      const cause = failed.indexOf(true);
      if (cause === index || !(error instanceof Error)) throw error;
      const message = `Fix this law first: ${laws[cause]!.name}\n\n${error.message}`;
      throw new Error(message, { cause: error.cause });
    };
    return { ...one, run: (parameters) => orFail(() => one.run(parameters), fail) };
  });
}
