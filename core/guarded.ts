/*
 * Keeps a caller's callbacks from breaking a decision: their errors are reported, never thrown, and
 * never left as unhandled rejections, which end a process.
 */

import { isPromise } from "./maybe_promise.ts";

/**
 * A caller's function, made safe to call: its exceptions and rejections are reported.
 *
 * @param callback The caller's function.
 * @param report Receives the error, and the arguments of the function. It must not throw.
 * @returns The function, which returns `undefined` if it failed or is asynchronous.
 */
export function guarded<Call extends readonly unknown[], Value>(
  callback: (...call: Call) => Value,
  report: (error: unknown, ...call: Call) => void,
): (...call: Call) => Value | undefined {
  return function callGuarded(...call) {
    try {
      const answer = callback(...call);
      if (!isPromise(answer)) return answer;
      Promise.resolve(answer).then(undefined, (error) => report(error, ...call));
    } catch (error) {
      report(error, ...call);
    }
    return undefined;
  };
}

/**
 * Makes a function that reports failures of callbacks to the caller's `onFailure`. Without one, or
 * if that fails itself, the first failure is printed.
 */
export function failureReport<Subject>(
  onFailure: ((error: unknown, subject: Subject) => unknown) | undefined,
): (error: unknown, subject: Subject) => void {
  const print = firstPrinted();
  if (onFailure === undefined) return print;
  const reportTo = guarded(onFailure, print);
  return (error, subject) => void reportTo(error, subject);
}

/** Makes a function that prints the first failure and ignores the rest, to keep logs readable. */
export function firstPrinted(): (error: unknown) => void {
  let printed = false;
  return function print(error) {
    if (printed) return;
    printed = true;
    console.error("A callback failed; only the first such failure is printed:", error);
  };
}

/** Makes a function that prints a warning of this package, once. */
export function printedOnce(): (text: string) => void {
  let printed = false;
  return function print(text) {
    if (printed) return;
    printed = true;
    console.warn(`tidegate: ${text}`);
  };
}
