/*
 * Takes a request's units from all of its limits or from none. Limits that share a store and a
 * clock take one call of that store. With several stores, a first round only looks, and skips the
 * first store. If no store would refuse, a second round takes units from one store after the other.
 * A store may still refuse then, because another request was faster. In that case the units that
 * the earlier stores gave go back.
 */

import type { Decision } from "../../../core/decision.ts";
import {
  allOf,
  andThen,
  isPromise,
  type MaybePromise,
  orElse,
} from "../../../core/maybe_promise.ts";
import type { Acquired } from "../../../core/limiter/acquire.ts";
import type { AskedPermit, Permit } from "../../../core/limiter/permit_desk.ts";
import { newPermitId } from "../../../core/limiter/permit_ids.ts";
import { type Undo, undoOf } from "../../../core/limiter/undo.ts";
import { checkCost, checkText } from "../../../core/options/checks.ts";
import type { Operation } from "../../../core/store.ts";
import { type Attempt, attempt } from "../../../core/verbs/attempt.ts";
import { peek } from "../../../core/verbs/peek.ts";
import type { Reserved } from "../../../core/verbs/reserve.ts";
import type { LimitCall } from "./limit_call.ts";
import type { LimiterGroup, PlannedLimiter } from "./limit_plan.ts";
import { startInTime } from "./start_in_time.ts";

/** The answer of a limit that gives permits. */
interface Held {
  readonly decision: Decision;
  /** The permit, if it is held. */
  readonly permit: Permit | undefined;
}

/** The answer of one limit: a decision, a decision that can be undone, or one with a permit. */
export type Answer = Decision | Acquired | Held;

/** The kinds of calls to a group of limits. */
type Action = "take" | "look" | "look at nothing";

type Answers = readonly Answer[];

/**
 * Takes the units of a request. If a limit delays the request, the request waits, or gives up its
 * place if it cannot wait. In shadow mode it does not wait.
 *
 * @param maxDelay The longest delay that a call may have, in milliseconds; may be `Infinity`.
 * @returns The answers of the limits, in order. If one limit refuses, the others answer with a
 * look, as the parts of an `all` do.
 */
export function takeFromLimits(
  { plan, shadowed }: LimitCall,
  calls: readonly LimitCall[],
  maxDelay: number,
): MaybePromise<Answers> {
  const { groups, limiters } = plan;
  if (plan.together) return takeTogether(limiters, calls);
  const how = { maxDelay: shadowed ? undefined : maxDelay, keeps: plan.keeps };
  if (groups.length === 1) return runGroup(groups[0]!, calls, how, "take");
  return takeFromStores(groups, (group, action) => runGroup(group, calls, how, action));
}

/** How units are taken. */
interface How {
  /** The longest delay; `undefined` if the request does not wait. */
  readonly maxDelay: number | undefined;
  /** Whether the units may be given back. */
  readonly keeps: boolean;
}

type Run = (group: LimiterGroup, action: Action) => MaybePromise<Answers>;

function takeFromStores(
  groups: readonly LimiterGroup[],
  run: Run,
): MaybePromise<Answers> {
  const undos: Undo[] = [];

  function take(group: LimiterGroup): MaybePromise<Answers> {
    return andThen(run(group, "take"), (answers) => {
      if (answers.every(isAllowed)) {
        undos.push(...answers.flatMap((answer) => releaseOf(answer) ?? undoIn(answer) ?? []));
      }
      return answers;
    });
  }

  /**
   * The answers to a refused request, in the order of the limits. One is the refusal. For the
   * others, this looks at the limits without taking units.
   */
  function refused(by: LimiterGroup, answers: Answers): MaybePromise<Answers> {
    return andThen(giveBack(undos), () => {
      const all = groups.map((group) => group === by ? answers : run(group, "look at nothing"));
      return andThen(allOf(all), (all) => inOrder(groups, all));
    });
  }

  const looked = untilRefused(groups.slice(1), (group) => run(group, "look"));
  return andThen(looked, ({ refusing, answers }) => {
    if (refusing !== undefined) return refused(refusing, answers.at(-1)!);
    return orElse(
      () =>
        andThen(
          untilRefused(groups, take),
          ({ refusing, answers }) =>
            refusing === undefined ? inOrder(groups, answers) : refused(refusing, answers.at(-1)!),
        ),
      (error) =>
        andThen(giveBack(undos), () => {
          throw error;
        }),
    );
  });
}

/**
 * Runs groups one after the other until one refuses. Returns the answers so far, the refusal last.
 */
function untilRefused(
  groups: readonly LimiterGroup[],
  run: (group: LimiterGroup) => MaybePromise<Answers>,
  before: readonly Answers[] = [],
): MaybePromise<{ refusing: LimiterGroup | undefined; answers: readonly Answers[] }> {
  const group = groups[before.length];
  if (group === undefined) return { refusing: undefined, answers: before };
  return andThen(run(group), (own) => {
    const answers = [...before, own];
    return own.every(isAllowed) ? untilRefused(groups, run, answers) : { refusing: group, answers };
  });
}

function isAllowed(answer: Answer): boolean {
  return decisionOf(answer).allowed;
}

/** Makes the function that releases the permit in an answer; `undefined` if there is none. */
export function releaseOf(answer: Answer): (() => MaybePromise<boolean>) | undefined {
  return "permit" in answer ? answer.permit?.release : undefined;
}

/**
 * The function that gives back those units of an answer that still count; `undefined` if there are
 * none. For a permit, see `releaseOf`.
 */
export function undoIn(answer: Answer): Undo | undefined {
  return "undo" in answer ? answer.undo : undefined;
}

/** The decision in an answer. */
export function decisionOf(answer: Answer): Decision {
  return "decision" in answer ? answer.decision : answer;
}

/**
 * Gives back all units that were taken, and does so only once. Units stay charged if that fails,
 * because a limit must not admit too much.
 */
function giveBack(undos: Undo[]): MaybePromise<unknown> {
  return allOf(undos.splice(0).map((undo) => orElse<unknown>(undo, noOne)));
}

function inOrder(groups: readonly LimiterGroup[], answers: readonly Answers[]): Answers {
  const ordered: Answer[] = [];
  groups.forEach((group, index) =>
    group.forEach(({ place }, at) => ordered[place] = answers[index]![at]!)
  );
  return ordered;
}

/**
 * Takes from limits that share a store and a clock, and never delay. The calls are passed to the
 * store unchanged, because each `LimitCall` is an `Operation`.
 */
function takeTogether(
  limiters: readonly PlannedLimiter[],
  calls: readonly LimitCall[],
): MaybePromise<Answers> {
  for (let index = 0; index < calls.length; index++) {
    const { key, argument } = calls[index]!;
    checkCall(key, argument);
  }
  const { limiter: { store }, internals } = limiters[0]!;
  const answers = store.run(calls as readonly Operation[], internals!.now());
  return isPromise(answers)
    ? answers.then((answers) => reported(limiters, calls, answers as Answers))
    : reported(limiters, calls, answers as Answers);
}

/** Takes from limits that share a store and a clock, or looks at them. */
function runGroup(
  group: LimiterGroup,
  calls: readonly LimitCall[],
  how: How,
  action: Action,
): MaybePromise<Answers> {
  if (group.length === 1) {
    const only = group[0]!;
    const taken = runOne(only, calls[only.place]!, how, action);
    return isPromise(taken) ? taken.then((taken) => [taken]) : [taken];
  }
  const operations: Operation[] = [];
  const asked: (AskedPermit | undefined)[] = [];
  for (let index = 0; index < group.length; index++) {
    const each = group[index]!;
    const call = calls[each.place]!;
    const isAsked = action === "take" && call.argument !== 0;
    const permit = isAsked ? each.ask?.(call.key, call.argument) : undefined;
    asked.push(permit);
    operations.push(operationOf(each, call, how, action, permit));
  }
  const { limiter: { store }, internals } = group[0]!;
  const answers = store.run(operations, internals!.now()) as MaybePromise<readonly Given[]>;
  if (action !== "take") return answers as MaybePromise<readonly Decision[]>;
  return andThen(answers, (given) => {
    const answers = given.map((answer, index) => {
      const each = group[index]!;
      return acquired(each, calls[each.place]!, answer, how.maxDelay);
    });
    reported(group, calls, answers);
    return group.some(({ ask }) => ask !== undefined) ? heldOf(asked, answers) : answers;
  });
}

/** Opens the permits that were asked for if all limits admit; otherwise none of them is held. */
function heldOf(asked: readonly (AskedPermit | undefined)[], answers: Answers): Answers {
  const isHeld = answers.every(isAllowed);
  return answers.map((answer, index) => {
    const permit = asked[index];
    if (permit === undefined) return answer;
    const decision = answer as Decision;
    return { decision, permit: isHeld ? permit.open(decision) : undefined };
  });
}

/** Reports each limit's decision to its own `onDecision`. */
function reported(group: LimiterGroup, calls: readonly LimitCall[], answers: Answers): Answers {
  for (let index = 0; index < group.length; index++) {
    const { internals, place } = group[index]!;
    const { key, argument } = calls[place]!;
    internals!.report(decisionOf(answers[index]!), key, argument);
  }
  return answers;
}

/** Takes from a single limit, by one call of its store. */
function runOne(
  planned: PlannedLimiter,
  call: LimitCall,
  { maxDelay, keeps }: How,
  action: Action,
): MaybePromise<Answer> {
  const { limiter, internals, ask, delays } = planned;
  const { key, argument: units } = call;
  if (action !== "take") return limiter.peek(key, action === "look" ? units : 0);
  if (ask !== undefined) {
    checkCall(key, units);
    return units === 0 ? limiter.peek(key, 0) : limiter.hold(key, { cost: units });
  }
  if (!delays || maxDelay === undefined) {
    if (!keeps) return limiter.consume(key, units);
    checkCall(key, units);
    return internals === undefined ? limiter.consume(key, units) : internals.take(key, units);
  }
  checkCall(key, units);
  return andThen(
    internals!.call(attempt, key, { cost: units, maxDelay, id: newPermitId() }),
    (given) => {
      const answer = acquired(planned, call, given, maxDelay);
      internals!.report(decisionOf(answer), key, units);
      return answer;
    },
  );
}

function operationOf(
  { internals, takes, reserves, ask, delays }: PlannedLimiter,
  { key, argument: units }: LimitCall,
  { maxDelay, keeps }: How,
  action: Action,
  permit: AskedPermit | undefined,
): Operation {
  checkCall(key, units);
  if (permit !== undefined) return { bound: takes!, key, argument: permit.argument };
  // A request of no units needs no permit, so the limit is only looked at.
  const takesNone = ask !== undefined && action === "take";
  if (action === "look at nothing" || takesNone) {
    return { bound: internals!.bind(peek), key, argument: 0 };
  }
  if (action === "look") return { bound: internals!.bind(peek), key, argument: units };
  if (delays && maxDelay !== undefined) {
    const argument = { cost: units, maxDelay, id: newPermitId() };
    return { bound: internals!.bind(attempt), key, argument };
  }
  return keeps
    ? { bound: reserves!, key, argument: { cost: units, id: newPermitId() } }
    : { bound: takes!, key, argument: units };
}

/**
 * The answer of an operation: a decision, the answer of an attempt, or a decision with the mark that
 * finds its units again.
 */
type Given = Decision | Attempt | Reserved;

/** The limit's answer, with a function that undoes it if the store's answer allows that. */
function acquired(
  { limiter, internals }: PlannedLimiter,
  { key, argument: units }: LimitCall,
  given: Given,
  maxDelay: number | undefined,
): Answer {
  if (!("decision" in given)) return given;
  if ("mark" in given) {
    const { decision, mark } = given;
    return { decision, undo: undoOf(internals!, key, units, decision, mark) };
  }
  const { decision, sight } = startInTime(limiter.algorithm, given, units, maxDelay!);
  return { decision, undo: undoOf(internals!, key, units, decision, sight?.mark) };
}

function checkCall(key: unknown, units: number): void {
  // The common case is written out because every request takes this path.
  if (typeof key === "string" && key !== "" && units >>> 0 === units) return;
  checkText("consume", "key", key);
  checkCost("consume", units, 0);
}

function noOne(): void {}
