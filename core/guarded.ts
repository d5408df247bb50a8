import { isPromise } from "./maybe_promise.ts";

/**
 * A caller's function, made safe to call: what it throws is reported, and so is what it rejects with
 * if it is asynchronous. Neither reaches whoever calls it, nor ends the process.
 *
 * @param callback The caller's function.
 * @param report Given the error, and what the function was called with. It must not throw.
 * @returns The function, which answers `undefined` where it failed or is asynchronous.
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
 * Makes what reports failures of callbacks to the caller's `onFailure`; without one, or where that
 * fails itself, the first failure is printed.
 */
export function failureReport<Subject>(
  onFailure: ((error: unknown, subject: Subject) => unknown) | undefined,
): (error: unknown, subject: Subject) => void {
  const print = firstPrinted();
  if (onFailure === undefined) return print;
  const reportTo = guarded(onFailure, print);
  return (error, subject) => void reportTo(error, subject);
}

/** Makes what prints the first failure that it is given. */
export function firstPrinted(): (error: unknown) => void {
  let printed = false;
  return function print(error) {
    if (printed) return;
    printed = true;
    console.error("A callback failed; only the first such failure is printed:", error);
  };
}
