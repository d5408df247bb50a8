/*
 * The keys of one limiter in the memory store, and single calls on them.
 *
 * Each verb runs in one of two functions. One is for states that are numbers, because an engine keeps
 * numbers in registers if a function sees nothing else. The other is for all other states.
 *
 * Nearly every call takes units of a known key whose state is an arrival time. Such calls have a third
 * function, which an engine inlines whole, whatever else the process does. V8 inlines at most 920
 * bytecodes, and never a bound function. So rare cases are in bound functions.
 */

import {
  type Capacities,
  capacitiesOf,
  freshInstant,
  leavesUsedUp,
} from "../../core/arithmetic/fresh_instant.ts";
import {
  chargeInPlace,
  giveBackInPlace,
  lookAt,
  takeInPlace,
} from "../../core/arithmetic/whole_arrival_time.ts";
import { bindOnce } from "../../core/bind_once.ts";
import { takeOver } from "../../core/carry_over.ts";
import { processTime } from "../process_time.ts";
import type { Algorithm, ArrivalRate } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import type { BoundVerb, Family, FamilySpec, Steps, Verb } from "../../core/store.ts";
import { withoutReceipts } from "../../core/algorithms/split_reducer.ts";
import { keptFor } from "../../core/receipts/receipts_of.ts";
import { keyFamily, storedKey } from "../../core/stored_key.ts";
import { charge } from "../../core/verbs/charge.ts";
import { consume } from "../../core/verbs/consume.ts";
import { peek } from "../../core/verbs/peek.ts";
import { refund } from "../../core/verbs/refund.ts";
import { numberIn, WIDTH } from "./expiry_queue.ts";
import {
  addKey,
  afterCall,
  afterFree,
  countGrowth,
  keepBound,
  keepState,
  writeCell,
} from "./keep_state.ts";
import {
  dropSlot,
  heldBytes,
  makeRoom,
  requiredBytes,
  requireOpen,
  type Slots,
  stateIn,
  tableOf,
} from "./slots.ts";
import { isEmpty, slotBeside, slotOf, type Table } from "./table.ts";

/** The keys of one limiter, as the memory store finds them. */
export interface MemoryKeys {
  readonly spec: FamilySpec;
  readonly algorithm: Algorithm;
  readonly capacities: Capacities;
  /** The table of its keys. The store may drop an empty table, and open another in its place. */
  table: Table;
  /** The tables of the limiter's older options, in order. */
  readonly older: readonly Place[];
}

/** Keys of one algorithm. */
interface Place {
  readonly algorithm: Algorithm;
  table: Table;
}

/** A verb bound to keys in memory. */
export interface MemoryBoundVerb<Argument, Answer> extends BoundVerb<Argument, Answer, "sync"> {
  readonly keys: MemoryKeys;
  /** The verb on states without notes, if it leaves such states without notes. */
  readonly plain: Steps<Argument, Answer> | undefined;
  /** The rate, if the verb takes units of keys whose states are arrival times. */
  readonly rate: ArrivalRate | undefined;
}

/** Opens a family in the memory store. */
export function memoryFamily(slots: Slots, spec: FamilySpec): Family<"sync"> {
  const { prefix, algorithm, older } = spec;
  const keys: MemoryKeys = {
    spec,
    algorithm,
    capacities: capacitiesOf(algorithm),
    table: tableOf(slots, keyFamily(prefix, algorithm.id), algorithm),
    older: older.map(({ algorithm }) => ({
      algorithm,
      table: tableOf(slots, keyFamily(prefix, algorithm.id), algorithm),
    })),
  };
  const family: Family<"sync"> = Object.freeze({
    spec,
    bind: bindOnce<"sync">(<Argument, Answer>(verb: Verb<Argument, Answer>) => {
      const steps = verb.on(algorithm);
      const plain = leavesNotes(verb, algorithm) ? undefined : verb.on(withoutReceipts(algorithm));
      const call = callOf(slots, keys, verb, steps, plain);
      const bound: MemoryBoundVerb<Argument, Answer> = {
        family,
        verb,
        steps,
        call,
        keys,
        plain,
        rate: (verb as unknown) === consume && keys.table.numeric
          ? algorithm.internals?.arrival
          : undefined,
      };
      return Object.freeze(bound);
    }),
    delete(key: string) {
      requireOpen(slots);
      for (const place of [keys, ...keys.older]) {
        const slot = findIn(slots, place, key);
        if (slot !== undefined) dropSlot(slots, slot);
      }
    },
    nameOf: (key: string) => storedKey(prefix, algorithm.id, key),
  });
  return family;
}

/** The slot of a key in a table. The store may have dropped the table meanwhile. */
function findIn(slots: Slots, place: Place, key: string): number | undefined {
  return place.table.slots.get(key) ?? findFurtherIn(slots, place, key);
}

function findFurtherIn(slots: Slots, place: Place, key: string): number | undefined {
  const { family } = place.table;
  if (isEmpty(place.table) && slots.tables.has(family)) {
    place.table = tableOf(slots, family, place.algorithm);
  }
  return slotOf(place.table, key) ?? slotBeside(slots, place.table, key);
}

/** The slot of a key. A key that holds nothing first takes over its state under older options. */
export function findKey(
  slots: Slots,
  keys: MemoryKeys,
  key: string,
  now: number,
  writes: boolean,
): number | undefined {
  const slot = findIn(slots, keys, key);
  if (slot !== undefined || keys.older.length === 0 || !writes) return slot;
  return adopt(slots, keys, key, now);
}

/** The state of a key that holds none under its own options: its state under older ones, or none. */
export function absentState(slots: Slots, keys: MemoryKeys, key: string, now: number): unknown {
  return olderState(slots, keys, key, now)?.state ?? keys.spec.algorithm.initial;
}

function olderState(slots: Slots, keys: MemoryKeys, key: string, now: number) {
  const { spec, older } = keys;
  return takeOver(spec, (index) => {
    const slot = findIn(slots, older[index]!, key);
    return slot === undefined ? undefined : stateIn(slots, slot);
  }, now);
}

/** Moves a key's state from older options to its own. */
function adopt(slots: Slots, keys: MemoryKeys, key: string, now: number): number | undefined {
  const taken = olderState(slots, keys, key, now);
  if (taken === undefined) return undefined;
  const { table, older, capacities, spec: { algorithm } } = keys;
  // Do everything that may throw before the older state goes, because no use may be lost.
  const look = consume.on(algorithm).uncharged(taken.state, now, 0);
  const freshAt = freshInstant(now, look, capacities);
  const place = older[taken.index]!;
  const slot = findIn(slots, place, key)!;
  const bytes = requiredBytes(slots, table, key, taken.state) - heldBytes(slots, place.table, slot);
  if (slots.onFull === "throw") makeRoom(slots, () => ({ keys: 0, bytes }), now);
  dropSlot(slots, slot);
  addKey(slots, table, key, taken.state, freshAt, now);
  return slotOf(table, key);
}

/** Whether a verb may leave notes with a state that has none. */
function leavesNotes<Argument, Answer>(
  { kind, transition }: Verb<Argument, Answer>,
  algorithm: Algorithm,
): boolean {
  return kind !== "look" && transition(algorithm) === undefined;
}

type Call<Argument, Answer> = (key: string, argument: Argument, at: number | undefined) => Answer;

/** Single calls of a verb. */
function callOf<Argument, Answer>(
  slots: Slots,
  keys: MemoryKeys,
  verb: Verb<Argument, Answer>,
  steps: Steps<Argument, Answer>,
  plain: Steps<Argument, Answer> | undefined,
): Call<Argument, Answer> {
  const { next: nextOf, answer: answerOf, answerTo, step } = steps;
  const { queue, use } = slots;
  const { older, capacities, spec: { algorithm } } = keys;
  const { initial, internals } = algorithm;
  const { decisionOf } = verb;
  const isLook = verb.kind === "look";
  const frees = verb.kind === "free";
  const after = afterCall.bind(undefined, slots);
  const isPlain = older.length === 0;
  let { table } = keys;

  /** The slot of a key that is not in the first map. */
  function findSlot(key: string, now: number): number | undefined {
    if (!isPlain || table.maps.length > 1) return findFurther(key, now);
    if (table.slots.size === 0) {
      requireOpen(slots);
      if (slots.tables.has(table.family)) return findFurther(key, now);
    }
    return slotBeside(slots, table, key);
  }

  function findFurther(key: string, now: number): number | undefined {
    requireOpen(slots);
    const slot = findKey(slots, keys, key, now, !isLook);
    table = keys.table;
    return slot;
  }

  function stateWithoutSlot(key: string, now: number): unknown {
    return isPlain || !isLook ? initial : absentState(slots, keys, key, now);
  }

  /** A call on a state of any shape. */
  function callOn(slot: number | undefined, key: string, argument: Argument, now: number): Answer {
    const state = slot === undefined ? stateWithoutSlot(key, now) : stateIn(slots, slot);
    if (step !== undefined) {
      const [answer, next] = step(state, now, argument);
      if (next !== state) keep(slot, key, next, answer, now);
      return answer;
    }
    const next = nextOf(state, now, argument);
    const answer = answerOf(state, next, now, argument);
    if (next !== state) keep(slot, key, next, answer, now);
    return answer;
  }

  function keep(
    slot: number | undefined,
    key: string,
    next: unknown,
    answer: Answer,
    now: number,
  ): void {
    const decision = decisionOf(answer);
    const kept = keptFor(algorithm, next, now, decision);
    const freshAt = freshInstant(now, decision, capacities, kept);
    keepState(slots, table, key, slot, next, initial, freshAt, now);
  }

  function callAny(key: string, argument: Argument, at: number | undefined): Answer {
    const now = at === undefined ? processTime() : at;
    return callOn(table.slots.get(key) ?? findSlot(key, now), key, argument, now);
  }

  if (!table.numeric) {
    // A look also sees states of older options, and these may have notes.
    if (plain === undefined || !isPlain) return callAny;
    const sizeOf = typeof table.stateBytes === "function" ? table.stateBytes : undefined;
    return function callOther(key, argument, at) {
      const now = at === undefined ? processTime() : at;
      const first = table.slots.get(key);
      const slot = first ?? findSlot(key, now);
      if (slot !== first && slots.owners[slot!]!.isBeside) return callOn(slot, key, argument, now);
      const state = slot === undefined ? stateWithoutSlot(key, now) : slots.objects[slot];
      const next = plain.next(state, now, argument);
      const answer = plain.answer(state, next, now, argument);
      if (next === state) return answer;
      const decision = decisionOf(answer);
      const freshAt = freshInstant(now, decision, capacities);
      if (slot === undefined) addKey(slots, table, key, next, freshAt, now);
      else if (next === initial) dropSlot(slots, slot);
      else {
        const grown = sizeOf === undefined ? 0 : sizeOf(next) - sizeOf(state);
        if (grown !== 0) countGrowth(slots, table, slot, next, grown, now);
        slots.objects[slot] = next;
        writeCell(slots, slot, 0, freshAt);
        if (frees || now >= slots.sweepAt || leavesUsedUp(decision.remaining, use.levels[slot]!)) {
          after(slot, true, now);
        }
        if (grown > 0) keepBound(slots, now);
      }
      return answer;
    };
  }

  const { next: nextNumber, answer: answerNumber } = plain ?? steps;

  function callNumber(
    key: string,
    argument: Argument,
    at: number | undefined,
    first: number | undefined,
  ): Answer {
    const now = at === undefined ? processTime() : +at;
    const slot = first ?? findSlot(key, now);
    if (slot !== first && !slots.owners[slot!]!.numeric) return callOn(slot, key, argument, now);
    const state = slot === undefined
      ? +(stateWithoutSlot(key, now) as number)
      : numberIn(queue, slot);
    const next = nextNumber(state, now, argument) as number;
    if (typeof next !== "number") return callOn(slot, key, argument, now);
    const answer = answerNumber(state, next, now, argument);
    if (next === state) return answer;
    const decision = decisionOf(answer);
    const freshAt = freshInstant(now, decision, capacities);
    if (slot === undefined) addKey(slots, table, key, next, freshAt, now);
    else if (next === initial) dropSlot(slots, slot);
    else {
      writeCell(slots, slot, next, freshAt);
      if (frees || now >= slots.sweepAt || leavesUsedUp(decision.remaining, use.levels[slot]!)) {
        after(slot, true, now);
      }
    }
    return answer;
  }

  const rate = internals?.arrival;
  const own: unknown = verb;
  if (step !== undefined) return callAny;
  // These verbs take units like `consume`, and answer more than the decision.
  if (rate !== undefined && answerTo !== undefined && verb.transition(algorithm) === "take") {
    const { units } = verb;
    const otherAt = callNumber.bind(undefined);
    return function takeAndAnswer(key, argument, at) {
      const slot = table.slots.get(key);
      const cost = units(argument);
      if (slot === undefined || cost <= 0) return otherAt(key, argument, at, slot);
      const now = at === undefined ? processTime() : at;
      const decision = takeInPlace(rate, queue.cells, WIDTH * slot, now, cost);
      if (now >= slots.sweepAt || leavesUsedUp(decision.remaining, use.levels[slot]!)) {
        after(slot, decision.allowed, now);
      }
      return answerTo(decision, numberIn(queue, slot), now);
    };
  }
  if (rate === undefined || !IN_PLACE.has(own)) {
    return (key, argument, at) => callNumber(key, argument, at, table.slots.get(key));
  }
  const other = callNumber.bind(undefined) as unknown as UnitsCallAt;

  function takeUnits(key: string, cost: number, at: number | undefined): Decision {
    const slot = table.slots.get(key);
    if (slot === undefined || cost <= 0) return other(key, cost, at, slot);
    const now = at === undefined ? processTime() : at;
    const decision = takeInPlace(rate!, queue.cells, WIDTH * slot, now, cost);
    if (now >= slots.sweepAt || leavesUsedUp(decision.remaining, use.levels[slot]!)) {
      after(slot, decision.allowed, now);
    }
    return decision;
  }
  function chargeUnits(key: string, cost: number, at: number | undefined): Decision {
    const slot = table.slots.get(key);
    if (slot === undefined || cost <= 0) return other(key, cost, at, slot);
    const now = at === undefined ? processTime() : at;
    const decision = chargeInPlace(rate!, queue.cells, WIDTH * slot, now, cost);
    if (now >= slots.sweepAt || leavesUsedUp(decision.remaining, use.levels[slot]!)) {
      after(slot, true, now);
    }
    return decision;
  }
  function giveBackUnits(key: string, units: number, at: number | undefined): Decision {
    const slot = table.slots.get(key);
    if (slot === undefined || units <= 0) return other(key, units, at, slot);
    const now = at === undefined ? processTime() : at;
    const decision = giveBackInPlace(rate!, queue.cells, WIDTH * slot, now, units);
    if (decision === undefined) return other(key, units, now, slot);
    afterFree(slots, slot, now);
    return decision;
  }
  function lookAtUnits(key: string, cost: number, at: number | undefined): Decision {
    const slot = table.slots.get(key);
    if (slot === undefined || cost <= 0) return other(key, cost, at, slot);
    return lookAt(rate!, numberIn(queue, slot), at === undefined ? processTime() : at, cost);
  }
  const call = own === consume
    ? takeUnits
    : own === charge
    ? chargeUnits
    : own === refund
    ? giveBackUnits
    : lookAtUnits;
  return call as unknown as Call<Argument, Answer>;
}

/** The verbs of units, which change an arrival time where it lies. */
const IN_PLACE: ReadonlySet<unknown> = new Set<unknown>([consume, peek, charge, refund]);

/** A call of units on a key whose slot may be known. */
type UnitsCallAt = (
  key: string,
  cost: number,
  at: number | undefined,
  first: number | undefined,
) => Decision;
