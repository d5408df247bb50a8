/*
 * The keys of one limiter in the memory store, and single calls on them. A call has one of three forms:
 *
 *   in place   on a known key whose state is an arrival time: the units are taken, given back or looked
 *              at where the number lies
 *   known      on any other known key; a state that is no number has a form of its own
 *   any        on a key that the store may not hold, and whatever the other forms do not do
 *
 * Nearly all calls have the first form. An engine inlines it whole into a limiter's `consume`, whatever
 * else the process does. V8 inlines at most 920 bytecodes, and never a bound function, so rare cases
 * are in bound functions.
 */

import type { Algorithm, ArrivalRate } from "../../core/algorithm.ts";
import {
  type Capacities,
  capacitiesOf,
  freshInstant,
} from "../../core/arithmetic/fresh_instant.ts";
import {
  chargeInPlace,
  giveBackInPlace,
  lookAt,
  takeInPlace,
} from "../../core/arithmetic/whole_arrival_time.ts";
import { bindOnce } from "../../core/bind_once.ts";
import { takeOver } from "../../core/carry_over.ts";
import type { Decision } from "../../core/decision.ts";
import { keptFor } from "../../core/kept_for.ts";
import { requireWellFormed } from "../../core/options/well_formed.ts";
import type { BoundVerb, Family, FamilySpec, Steps, Verb } from "../../core/store.ts";
import { keyFamily, storedKey } from "../../core/stored_key.ts";
import { charge } from "../../core/verbs/charge.ts";
import { consume } from "../../core/verbs/consume.ts";
import { peek } from "../../core/verbs/peek.ts";
import { refund } from "../../core/verbs/refund.ts";
import { processTime } from "../process_time.ts";
import { keepState, sweep } from "./make_room.ts";
import {
  dropSlot,
  putInstant,
  requireOpen,
  type Slots,
  stateIn,
  type Table,
  tableOf,
} from "./slots.ts";

/** The keys of one algorithm. */
interface Place {
  readonly algorithm: Algorithm;
  readonly capacities: Capacities;
  /** Their table. The store may drop it while it is empty, and list another one in its place. */
  table: Table;
}

/** The keys of one limiter. */
export interface MemoryKeys {
  readonly spec: FamilySpec;
  readonly own: Place;
  /** The keys of the limiter's older options, in order. */
  readonly older: readonly Place[];
}

/** A verb bound to keys in memory. */
export interface MemoryBoundVerb<Argument, Answer> extends BoundVerb<Argument, Answer, "sync"> {
  readonly keys: MemoryKeys;
  /** The rate, if the verb is `consume` and states may be arrival times. */
  readonly rate: ArrivalRate | undefined;
}

/** Opens a family in the memory store. */
export function memoryFamily(slots: Slots, spec: FamilySpec): Family<"sync"> {
  const { prefix, algorithm, older } = spec;
  const placeOf = (algorithm: Algorithm): Place => ({
    algorithm,
    capacities: capacitiesOf(algorithm),
    table: tableOf(slots, keyFamily(prefix, algorithm.id), algorithm),
  });
  const keys: MemoryKeys = {
    spec,
    own: placeOf(algorithm),
    older: older.map(({ algorithm }) => placeOf(algorithm)),
  };
  const arrival = algorithm.internals?.arrival;
  const family: Family<"sync"> = Object.freeze({
    spec,
    bind: bindOnce<"sync">(<Argument, Answer>(verb: Verb<Argument, Answer>) => {
      const steps = verb.on(algorithm);
      const rate = (verb as unknown) === consume ? arrival : undefined;
      const call = callOf(slots, keys, verb, steps);
      const bound: MemoryBoundVerb<Argument, Answer> = { family, verb, steps, call, keys, rate };
      return Object.freeze(bound);
    }),
    delete(key: string) {
      requireOpen(slots);
      requireWellFormed(key);
      for (const place of [keys.own, ...keys.older]) {
        const slot = slotOf(slots, place, key);
        if (slot !== undefined) dropSlot(slots, slot);
      }
    },
    nameOf: (key: string) => storedKey(prefix, algorithm.id, key),
  });
  return family;
}

/** The slot of a key; `undefined` if it is not held. */
export function slotOf(slots: Slots, place: Place, key: string): number | undefined {
  const { slots: { size }, family } = place.table;
  if (size === 0 && slots.tables.has(family)) {
    place.table = tableOf(slots, family, place.algorithm);
  }
  return place.table.slots.get(key);
}

/**
 * The state of a key that is not held: what it takes over from older options, or a fresh one.
 *
 * @throws {TypeError} If the key is not well-formed. A key that is held is.
 */
export function stateWithoutSlot(
  slots: Slots,
  { spec, older }: MemoryKeys,
  key: string,
  now: number,
): unknown {
  requireWellFormed(key);
  if (older.length === 0) return spec.algorithm.initial;
  return takeOver(spec, (index) => {
    const slot = slotOf(slots, older[index]!, key);
    return slot === undefined ? undefined : stateIn(slots, slot);
  }, now);
}

/** The instant at which a key is fresh after a call that left it in a state. */
export function freshAfter(
  { algorithm, capacities }: Place,
  state: unknown,
  decision: Decision,
  now: number,
): number {
  return freshInstant(now, decision, capacities, keptFor(algorithm, state, now, decision));
}

function isAsLarge({ stateBytes }: Place["table"], next: unknown, state: unknown): boolean {
  return typeof stateBytes === "number" || stateBytes(next) === stateBytes(state);
}

type Call<Argument, Answer> = (key: string, argument: Argument, at: number | undefined) => Answer;

/** Single calls of a verb. */
function callOf<Argument, Answer>(
  slots: Slots,
  keys: MemoryKeys,
  verb: Verb<Argument, Answer>,
  steps: Steps<Argument, Answer>,
): Call<Argument, Answer> {
  const { own } = keys;
  const { algorithm, capacities } = own;
  const { initial } = algorithm;
  const { decisionOf } = verb;
  const { next: nextOf, answer: answerOf } = steps;
  const writes = verb.kind !== "look";
  const move = sweep.bind(undefined, slots) as (now: number) => void;

  function callAny(key: string, argument: Argument, at: number | undefined): Answer {
    const now = at === undefined ? processTime() : at;
    const slot = slotOf(slots, own, key);
    if (slot === undefined) requireOpen(slots);
    const held = slot === undefined ? initial : stateIn(slots, slot);
    const state = slot === undefined ? stateWithoutSlot(slots, keys, key, now) : held;
    const next = nextOf(state, now, argument);
    const answer = answerOf(state, next, now, argument);
    // Use that a key takes over is kept, even if the call is refused.
    if (next !== held && writes) keep(slot, key, next, answer, now);
    if (--slots.rest < 0) move(now);
    return answer;
  }

  function keep(
    slot: number | undefined,
    key: string,
    next: unknown,
    answer: Answer,
    now: number,
  ): void {
    const freshAt = freshAfter(own, next, decisionOf(answer), now);
    if (next !== initial) keepState(slots, own.table, key, slot, next, freshAt, now);
    else if (slot !== undefined) dropSlot(slots, slot);
  }

  const other = callAny.bind(undefined);
  const keepAny = keep.bind(undefined);

  function callKnown(key: string, argument: Argument, at: number | undefined): Answer {
    const slot = own.table.slots.get(key);
    if (slot === undefined) return other(key, argument, at);
    const number = slots.cells[2 * slot]!;
    if (number === Infinity) return callObject(slot, key, argument, at);
    const now = at === undefined ? processTime() : at;
    const next = nextOf(number, now, argument);
    const answer = answerOf(number, next, now, argument);
    if (next !== number) {
      if (typeof next === "number" && next < Infinity && next !== initial) {
        slots.cells[2 * slot] = next;
        putInstant(slots, slot, freshInstant(now, decisionOf(answer), capacities));
      } else keepAny(slot, key, next, answer, now);
    }
    if (--slots.rest < 0) move(now);
    return answer;
  }

  // The same for a state that is no number: an engine keeps a number in a register, and inlines what a
  // line calls, if that is all that the line sees.
  function callObject(
    slot: number,
    key: string,
    argument: Argument,
    at: number | undefined,
  ): Answer {
    const now = at === undefined ? processTime() : at;
    const state = slots.states[slot];
    const next = nextOf(state, now, argument);
    const answer = answerOf(state, next, now, argument);
    if (next !== state) {
      // A state of as many bytes takes its place.
      if (typeof next === "object" && next !== initial && isAsLarge(own.table, next, state)) {
        slots.states[slot] = next;
        putInstant(slots, slot, freshAfter(own, next, decisionOf(answer), now));
      } else keepAny(slot, key, next, answer, now);
    }
    if (--slots.rest < 0) move(now);
    return answer;
  }

  // Such keys are kept for longer than until they are fresh.
  if (keys.older.length > 0) return callAny;
  const rate = algorithm.internals?.arrival;
  const onObject = callObject.bind(undefined);
  const inPlace = rate && callInPlace(
    slots,
    own,
    rate,
    verb,
    other as unknown as UnitsCall,
    onObject as unknown as ObjectCall,
  );
  return inPlace as unknown as typeof callAny | undefined ?? callKnown;
}

type UnitsCall = Call<number, Decision>;
type ObjectCall = (slot: number, ...call: Parameters<UnitsCall>) => Decision;

/**
 * A verb of units on known keys whose states are arrival times. `undefined` for another verb.
 *
 * The functions are alike, and not one function of a parameter: each has call sites of its own, so that
 * an engine inlines what they call.
 *
 * @param other A call on any key.
 * @param onObject A call on a key whose state is no number.
 */
function callInPlace(
  slots: Slots,
  own: Place,
  rate: ArrivalRate,
  verb: unknown,
  other: UnitsCall,
  onObject: ObjectCall,
): UnitsCall | undefined {
  const move = sweep.bind(undefined, slots) as (now: number) => void;

  function takeUnits(key: string, cost: number, at: number | undefined): Decision {
    const slot = own.table.slots.get(key);
    if (slot === undefined || cost <= 0) return other(key, cost, at);
    const { cells } = slots;
    if (cells[2 * slot] === Infinity) return onObject(slot, key, cost, at);
    const now = at === undefined ? processTime() : at;
    const decision = takeInPlace(rate, cells, 2 * slot, now, cost);
    if (--slots.rest < 0) move(now);
    return decision;
  }

  function lookAtUnits(key: string, cost: number, at: number | undefined): Decision {
    const slot = own.table.slots.get(key);
    if (slot === undefined || cost <= 0) return other(key, cost, at);
    const tat = slots.cells[2 * slot]!;
    if (tat === Infinity) return onObject(slot, key, cost, at);
    const now = at === undefined ? processTime() : at;
    if (--slots.rest < 0) move(now);
    return lookAt(rate, tat, now, cost);
  }

  function chargeUnits(key: string, cost: number, at: number | undefined): Decision {
    const slot = own.table.slots.get(key);
    if (slot === undefined || cost <= 0) return other(key, cost, at);
    const { cells } = slots;
    if (cells[2 * slot] === Infinity) return onObject(slot, key, cost, at);
    const now = at === undefined ? processTime() : at;
    const decision = chargeInPlace(rate, cells, 2 * slot, now, cost);
    if (--slots.rest < 0) move(now);
    return decision;
  }

  function giveBackUnits(key: string, units: number, at: number | undefined): Decision {
    const slot = own.table.slots.get(key);
    if (slot === undefined || units <= 0) return other(key, units, at);
    const { cells } = slots;
    if (cells[2 * slot] === Infinity) return onObject(slot, key, units, at);
    const now = at === undefined ? processTime() : at;
    const decision = giveBackInPlace(rate, cells, 2 * slot, now, units);
    // A key without use is dropped.
    if (decision === undefined) return other(key, units, now);
    putInstant(slots, slot, cells[2 * slot + 1]!);
    if (--slots.rest < 0) move(now);
    return decision;
  }

  return new Map<unknown, UnitsCall>([
    [consume, takeUnits],
    [peek, lookAtUnits],
    [charge, chargeUnits],
    [refund, giveBackUnits],
  ]).get(verb);
}
