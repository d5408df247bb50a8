/*
 * Takes a request's units from all of its limits or from none. Limits of one store and clock are one
 * call of the store. Where there are several stores, all but the first are looked at before anything
 * is taken; then units are taken from one after the other, and given back if a later one refuses
 * after all, as another request was faster.
 */

import type { Decision } from "../../../core/decision.ts";
import {
  allOf,
  andThen,
  isPromise,
  type MaybePromise,
  orElse,
} from "../../../core/maybe_promise.ts";
import { checkCost, checkText } from "../../../core/options/checks.ts";
import type { Operation } from "../../../core/store.ts";
import { type Attempt, attempt } from "../../../core/verbs/attempt.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { peek } from "../../../core/verbs/peek.ts";
import type { Refusal } from "../gate/refusal.ts";
import { refundOf } from "../gate/refunds.ts";
import type { AnyLimiter } from "./limit_options.ts";
import type { LimiterGroup, LimitPlan, PlannedLimiter } from "./limit_plan.ts";

/** What a request takes from one limit. */
export interface Charge {
  readonly limiter: AnyLimiter;
  readonly key: string;
  readonly units: number;
  /** Why it cannot be taken; the same shape for both, because this is the hot path. */
  readonly refusal: Refusal | undefined;
}

/** What one limit decided. */
export interface Taken {
  readonly decision: Decision;
  /** When the key is fresh after the call, if that took a place in a queue. */
  readonly freshAt: number | undefined;
}

/** What is done to limits. */
type Action = "take" | "look" | "look at nothing";

type Answers = readonly Taken[];

/**
 * Takes a request's units.
 *
 * @param charges What it takes from each limiter of the plan.
 * @param waits Whether the request will wait out a delay, and give its place back if it cannot.
 * @returns What each limiter decided, in order: if one refuses, those that would admit are answered
 * by a look, as `all` answers for its parts.
 */
export function chargeLimits(
  { groups }: LimitPlan,
  charges: readonly Charge[],
  waits: boolean,
): MaybePromise<Answers> {
  if (groups.length === 1) return runGroup(groups[0]!, charges, waits, "take");
  return chargeStores(
    groups,
    charges,
    (group, action) => runGroup(group, charges, waits, action),
  );
}

type Run = (group: LimiterGroup, action: Action) => MaybePromise<Answers>;

function chargeStores(
  groups: readonly LimiterGroup[],
  charges: readonly Charge[],
  run: Run,
): MaybePromise<Answers> {
  const undos: (() => unknown)[] = [];

  function take(group: LimiterGroup): MaybePromise<Answers> {
    return andThen(run(group, "take"), (answers) => {
      if (answers.every(isAllowed)) undos.push(undoOf(group, charges, answers));
      return answers;
    });
  }

  /** In order of the limits: those that did not refuse as they are, without the request. */
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

/** Runs groups one after the other, until one refuses: the answers so far, the refusal last. */
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

function isAllowed({ decision }: Taken): boolean {
  return decision.allowed;
}

function undoOf(
  group: LimiterGroup,
  charges: readonly Charge[],
  answers: Answers,
): () => MaybePromise<unknown> {
  const undos = group.flatMap(({ place }, index) =>
    refundCharge(charges[place]!, answers[index]!) ?? []
  );
  return () => allOf(undos.map((undo) => undo() as MaybePromise<unknown>));
}

/**
 * Makes the function that gives the units of a charge back as far as they still count; `undefined` if
 * there is nothing to be given back.
 */
export function refundCharge(
  { limiter, key, units }: Charge,
  { decision, freshAt }: Taken,
): (() => unknown) | undefined {
  if (units <= 0 || decision.source === "policy") return undefined;
  return refundOf(limiter, key, units, decision, freshAt);
}

/** Gives back what was taken, once. What cannot be given back stays charged: the safe side. */
function giveBack(undos: (() => unknown)[]): MaybePromise<unknown> {
  const all = undos.splice(0).map((undo) =>
    orElse<unknown>(() => undo() as MaybePromise<unknown>, noOne)
  );
  return allOf(all);
}

function inOrder(groups: readonly LimiterGroup[], answers: readonly Answers[]): Answers {
  const ordered: Taken[] = [];
  groups.forEach((group, index) =>
    group.forEach(({ place }, at) => ordered[place] = answers[index]![at]!)
  );
  return ordered;
}

/** Charges limits of one store and clock, or looks at them. */
function runGroup(
  group: LimiterGroup,
  charges: readonly Charge[],
  waits: boolean,
  action: Action,
): MaybePromise<Answers> {
  if (group.length === 1) {
    const only = group[0]!;
    const taken = runOne(only, charges[only.place]!, waits, action);
    return isPromise(taken) ? taken.then((taken) => [taken]) : [taken];
  }
  const operations = group.map((each) => operationOf(each, charges[each.place]!, waits, action));
  const { limiter: { store }, internals } = group[0]!;
  const answers = store.run(operations, internals!.now()) as MaybePromise<readonly unknown[]>;
  const take = action === "take";
  return isPromise(answers)
    ? answers.then((answers) => groupTaken(group, charges, answers, take))
    : groupTaken(group, charges, answers, take);
}

function groupTaken(
  group: LimiterGroup,
  charges: readonly Charge[],
  answers: readonly unknown[],
  reports: boolean,
): Answers {
  const all: Taken[] = [];
  for (let index = 0; index < group.length; index++) {
    const { internals, place } = group[index]!;
    const taken = takenBy(answers[index] as Decision | Attempt);
    const { key, units } = charges[place]!;
    if (reports) internals!.report(taken.decision, key, units);
    all.push(taken);
  }
  return all;
}

/** One limit: a single call on the store. */
function runOne(
  { limiter, internals, delays }: PlannedLimiter,
  { key, units }: Charge,
  waits: boolean,
  action: Action,
): MaybePromise<Taken> {
  if (action !== "take") {
    return andThen(limiter.peek(key, action === "look" ? units : 0), takenBy);
  }
  if (!delays || !waits) {
    const answer = limiter.consume(key, units);
    return isPromise(answer) ? answer.then(decided) : decided(answer);
  }
  checkCall(key, units);
  return andThen(internals!.call(attempt, key, { cost: units, maxDelay: Infinity }), (answer) => {
    internals!.report(answer.decision, key, units);
    return takenBy(answer);
  });
}

function operationOf(
  { internals, delays }: PlannedLimiter,
  { key, units }: Charge,
  waits: boolean,
  action: Action,
): Operation {
  checkCall(key, units);
  if (action === "look at nothing") return { bound: internals!.bind(peek), key, argument: 0 };
  if (action === "look") return { bound: internals!.bind(peek), key, argument: units };
  return delays && waits
    ? { bound: internals!.bind(attempt), key, argument: { cost: units, maxDelay: Infinity } }
    : { bound: internals!.bind(consume), key, argument: units };
}

function checkCall(key: unknown, units: number): void {
  checkText("consume", "key", key);
  checkCost("consume", units, 0);
}

/** Of an attempt, a failure policy answers without the state: there is no place to give back then. */
function takenBy(answer: Decision | Attempt): Taken {
  if (!("decision" in answer)) return decided(answer);
  return { decision: answer.decision, freshAt: answer.sight?.freshAt ?? 0 };
}

function decided(decision: Decision): Taken {
  return { decision, freshAt: undefined };
}

function noOne(): void {}
