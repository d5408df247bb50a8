import { wrapStore } from "../../core/wrap_store.ts";
import type { Operation } from "../../core/store.ts";
import type { Store } from "../../mod.ts";

/** A call as the store under test receives it. */
export interface SeenCall extends Operation {
  readonly verb: Operation["bound"]["verb"];
  /** Units to take; negative if they are given back, 0 for a look. */
  readonly cost: number;
  readonly now: number | undefined;
}

/**
 * Handles calls in place of the store: `proceed` passes them on, and returns their answers in order.
 */
type Intercept = (calls: readonly SeenCall[], proceed: () => readonly unknown[]) => unknown;

/**
 * A store whose calls, single ones and lists, all go through one function. Its answers are one answer
 * a call, or a promise of them.
 */
export function interceptedStore<Inner extends Store>(inner: Inner, intercept: Intercept): Inner {
  return wrapStore(inner, {
    call: (bound) => (key, argument, now) => {
      const seen = [seenCall({ bound, key, argument }, now)];
      return firstOf(intercept(seen, () => asList(bound.call(key, argument, now))));
    },
    run: (operations, now) =>
      intercept(
        operations.map((operation) => seenCall(operation, now)),
        () => inner.run(operations, now) as readonly unknown[],
      ) as readonly unknown[],
  }) as Inner;
}

function seenCall(operation: Operation, now: number | undefined): SeenCall {
  const { bound: { verb }, argument } = operation;
  const units = verb.units(argument);
  const cost = verb.kind === "look" ? 0 : verb.kind === "free" ? -units : units;
  return { ...operation, verb, cost, now };
}

function asList(answer: unknown): readonly unknown[] {
  return isThenable(answer)
    ? answer.then((value) => [value]) as unknown as readonly unknown[]
    : [answer];
}

function firstOf(answers: unknown): unknown {
  return isThenable(answers)
    ? answers.then((all) => (all as readonly unknown[])[0])
    : (answers as readonly unknown[])[0];
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === "function";
}
