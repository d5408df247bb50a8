/*
 * Is there an order?
 *
 * Calls that overlap may take effect in any order, calls that do not in theirs. A history of one key
 * is lawful if some such order, played on the bare reducer, gives every call the answer that it got:
 * then it is linearizable. The search takes any call that began before all open ones had ended,
 * steps the reducer by it, and goes back when no answer fits (1). A set of calls done and the state
 * they led to is never tried twice (2). A refusal or a look, which leave every state as it is, are
 * taken as soon as their answers fit, without going back: taking them early never hinders another.
 *
 * 1. J. Wing, C. Gong, "Testing and verifying concurrent objects", Journal of Parallel and
 *    Distributed Computing 17 (1993)
 * 2. G. Lowe, "Testing for linearizability", Concurrency and Computation 29.4 (2017)
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { sameDecision } from "./laws/same_decision.ts";

/** One call on a key, as its caller saw it. */
export interface ObservedCall {
  /** When the call was made, on any scale that all callers share. */
  readonly start: number;
  /** When its answer came; `Infinity` if none did. */
  readonly end: number;
  /** The instant that it was decided for. */
  readonly now: number;
  /** Units that it took; 0 looked, below 0 gave back. */
  readonly cost: number;
  /** Whether it only asked. */
  readonly dry?: boolean | undefined;
  /** The answer; `undefined` if none came, and the call may or may not have taken effect. */
  readonly decision: Decision | undefined;
}

/** How far to search. */
export interface LinearizationOptions<State> {
  /** The state before the first call; the algorithm's `initial` without it. */
  readonly initial?: State | undefined;
  /** The most steps of the search; 1,000,000 without it. */
  readonly maxSteps?: number | undefined;
}

/**
 * Finds an order in which the calls of a history, one after another, give the answers that were
 * given, and in which no call comes before one that had ended when it was made.
 *
 * @param algorithm The key's algorithm.
 * @param history The calls in any order.
 * @param options Where to start and how far to search.
 * @returns The places of the calls in that order, without those that took no effect; `undefined` if
 * there is no such order.
 * @throws {RangeError} If the search takes more than `maxSteps`.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { linearization } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const algorithm = gcra({ limit: 1, period: "1s", burst: 1 });
 * const [admitted, used] = algorithm.step(algorithm.initial, 0, 1);
 * const [refused] = algorithm.step(used, 0, 1);
 * const overlapping = [
 *   { start: 0, end: 9, now: 0, cost: 1, decision: refused },
 *   { start: 1, end: 8, now: 0, cost: 1, decision: admitted },
 * ];
 * assert.deepEqual(linearization(algorithm, overlapping), [1, 0]);
 * const inTurn = [{ ...overlapping[0]!, end: 0.5 }, overlapping[1]!];
 * assert.equal(linearization(algorithm, inTurn), undefined);
 * ```
 */
export function linearization<State>(
  algorithm: Algorithm<State>,
  history: readonly ObservedCall[],
  options: LinearizationOptions<State> = {},
): readonly number[] | undefined {
  const { initial = algorithm.initial, maxSteps = 1_000_000 } = options;
  const indices = [...history.keys()].sort((one, other) => at(one).start - at(other).start);
  const done: boolean[] = history.map(() => false);
  const order: number[] = [];
  const tried = new Set<string>();
  let answered = history.filter(({ decision }) => decision !== undefined).length;
  let steps = 0;

  function at(i: number): ObservedCall {
    return history[i] as ObservedCall;
  }
  /** The state after a call, if it can come next with the answer that it got. */
  function after(state: State, { now, cost, dry, decision }: ObservedCall): State | undefined {
    if (++steps > maxSteps) {
      throw new RangeError(
        `Cannot find an order of ${history.length} calls in ${maxSteps} steps: give more maxSteps`,
      );
    }
    const [answer, next] = algorithm.step(state, now, cost);
    if (decision !== undefined && !sameDecision(answer, decision)) return undefined;
    return dry === true ? state : next;
  }
  /** The calls that no open call precedes. */
  function open(from: number): number[] {
    const found: number[] = [];
    let end = Infinity;
    for (let index = from; index < indices.length; index++) {
      const i = indices[index] as number;
      const { start, end: ended, decision } = at(i);
      if (start > end) break;
      if (done[i] === true) continue;
      found.push(i);
      if (decision !== undefined) end = Math.min(end, ended);
    }
    return found.filter((i) => at(i).start <= end);
  }
  /** The calls to try next in a state; nothing if that state was tried before. */
  function junction(state: State, before: number, reached: number): Junction<State> {
    let from = before;
    while (from < indices.length && done[indices[from] as number] === true) from++;
    const left = indices.slice(from, reached).filter((i) => done[i] === false);
    const key = `${from} ${reached} ${left} ${algorithm.codec.encode(state)}`;
    if (tried.has(key)) return { from, reached, ways: [] };
    tried.add(key);
    const fitting = open(from).flatMap((i) => {
      const next = after(state, at(i));
      return next === undefined ? [] : [{ i, next }];
    });
    const harmless = fitting.find(({ i }) => isHarmless(at(i)));
    return { from, reached, ways: harmless === undefined ? fitting.reverse() : [harmless] };
  }
  function mark(i: number, isDone: boolean): void {
    done[i] = isDone;
    if (at(i).decision !== undefined) answered += isDone ? -1 : 1;
  }

  // A stack of its own: histories are longer than the machine's is deep.
  const path = [junction(initial, 0, 0)];
  while (answered > 0 && path.length > 0) {
    const { from, reached, ways } = path.at(-1) as Junction<State>;
    const way = ways.pop();
    if (way === undefined) {
      path.pop();
      if (order.length > 0) mark(order.pop() as number, false);
    } else {
      mark(way.i, true);
      order.push(way.i);
      path.push(junction(way.next, from, Math.max(reached, indices.indexOf(way.i, from) + 1)));
    }
  }
  return answered === 0 ? order : undefined;
}

/** Where the search can go on. */
interface Junction<State> {
  /** All calls before this place, in the order of the starts, are done. */
  readonly from: number;
  /** No call from this place on is done. */
  readonly reached: number;
  /** The calls that can come next, and the states after them: the last one is tried first. */
  readonly ways: { readonly i: number; readonly next: State }[];
}

/** Whether the call changed nothing, whatever the state was. */
function isHarmless({ cost, dry, decision }: ObservedCall): boolean {
  return decision !== undefined && (cost === 0 || dry === true || !decision.allowed);
}
