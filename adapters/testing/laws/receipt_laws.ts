/*
 * The laws of receipts. Whoever settles a receipt must not free the units of somebody else: the state
 * is that of a replay in which the call had cost what it used. Beside each key stands the list of its
 * admitted calls with what they cost by now, and each check plays that list from the start.
 */

import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import type { GrowingLockState } from "../../../core/algorithms/growing_locks.ts";
import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { mayLock } from "../../../core/algorithms/may_lock.ts";
import { reservable } from "../../../core/algorithms/reservable.ts";
import type { Decision } from "../../../core/decision.ts";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import type { Claim, Settlement } from "../../../core/receipts/receipt.ts";
import { block, isBlockable, unblock } from "../../../core/verbs/block.ts";
import { reserve } from "../../../core/verbs/take_backable.ts";
import { chargeReceipt, giveBackReceipt } from "../../../core/verbs/settle.ts";
import { follow, type Schedule, schedules } from "../arbitraries/schedules.ts";
import { gridsOf, type Subject } from "../arbitraries/subjects.ts";
import { type Law, law } from "../law.ts";
import { inWords } from "../table.ts";

/** How much the laws have tried in this process. A law that tried nothing proves nothing. */
export const receiptCounts = { steps: 0, settled: 0, returned: 0, replays: 0, closed: 0 };

/** The laws of receipts of any algorithm that can be made reservable. */
export function receiptLaws(subjects: fc.Arbitrary<Subject>): readonly Law[] {
  const drawn = (stepsBack: boolean, maxLength: number) =>
    [
      subjects,
      schedules({ stepsBack, refunds: true, charges: true, maxLength }),
      fc.array(fc.nat(), { minLength: 32, maxLength: 32 }),
    ] as const;
  return [
    law(
      "a settled receipt leaves the state of a replay in which its call had cost what it used",
      fc.property(...drawn(false, 40), (subject, schedule, picks) => {
        played(subject, schedule, picks, expectSame);
      }),
    ),
    law(
      "a settled receipt leaves no less than a replay, if the clock steps back",
      fc.property(...drawn(true, 40), (subject, schedule, picks) => {
        played(subject, schedule, picks, expectNoLess);
      }),
    ),
  ];
}

/** An algorithm, or a part of it, that is replayed by itself. */
interface Line {
  readonly own: Algorithm;
  /** Its state in that of the whole. */
  stateIn(whole: unknown): unknown;
}

/** The lines of an algorithm: its parts, or itself, without combinators around them. */
function linesOf(algorithm: Algorithm): readonly Line[] {
  const { parts, wraps } = algorithm.internals ?? {};
  if (wraps !== undefined) {
    return linesOf(wraps.inner).map((line) => ({
      ...line,
      stateIn: (whole) => line.stateIn(wraps.innerOf(whole)),
    }));
  }
  if (parts === undefined) return [{ own: algorithm, stateIn: (state) => state }];
  return parts.flatMap((part, index) =>
    linesOf(part).map((line): Line => ({
      ...line,
      stateIn: (whole) => line.stateIn((whole as readonly unknown[])[index]),
    }))
  );
}

/** A call that was admitted. */
interface Taken {
  readonly now: number;
  /** Its receipt; `undefined` for calls that cannot be settled. */
  readonly claim: Claim | undefined;
  /** Whether it was charged, beyond the limit if need be. */
  readonly isCharge: boolean;
  /** Its cost by now, in each line. */
  readonly costs: number[];
  isOpen: boolean;
}

const UNSETTLED = { claim: undefined, isOpen: false } as const;

/** The admitted calls of a line, with the state that they began with. */
interface Replay {
  readonly line: Line;
  readonly index: number;
  readonly base: unknown;
  readonly taken: readonly Taken[];
  /** The latest instant of any call or settlement. */
  readonly latest: number;
  /** Whether the clock stepped back to before a settlement, and units were taken then. */
  readonly wasBehind: boolean;
}

type Check = (replay: Replay, state: unknown, now: number) => void;

/** Plays a schedule with receipts, and checks each line after each settlement. */
function played(
  { algorithm: given, ...subject }: Subject,
  schedule: Schedule,
  picks: readonly number[],
  check: Check,
): void {
  if (!isReservable(given)) return;
  const algorithm = reservable(given, { within: LAST_INSTANT });
  const { receipts, wraps } = algorithm.internals!;
  const lines = linesOf(algorithm);
  const least = Math.max(...lines.map(({ own }) => leastCost(own)));
  const grids = gridsOf({ algorithm: given, ...subject });
  let taken: Taken[] = [];
  let bases = lines.map(({ own }) => own.initial);
  let state: unknown = algorithm.initial;
  let step = 0;
  let latest = 0;
  let lastSettled = -1;
  let wasBehind = false;

  function take(now: number, cost: number): Decision {
    const verb = reserve.on(algorithm);
    const argument = { cost, id: step + 1 };
    const next = verb.next(state, now, argument);
    const { decision, mark } = verb.answer(state, next, now, argument);
    state = next;
    if (mark === undefined) return decision;
    const claim = JSON.parse(JSON.stringify({ ...mark, units: cost })) as Claim;
    taken.push({ now, claim, isCharge: false, costs: lines.map(() => cost), isOpen: true });
    return decision;
  }

  /** A call that cannot be settled. */
  function call(now: number, cost: number, charges: boolean): Decision {
    const [decision, next] = (charges ? algorithm.charge : algorithm.step)(state, now, cost);
    if (next === state) return decision;
    // A debt has a bound. A charge that reaches it takes less than its cost.
    const isWhole = lines.every((line) =>
      roomIn(line, next, now) === roomIn(line, state, now) - cost
    );
    if (!isWhole) return algorithm.step(state, now, 0)[0];
    state = next;
    taken.push({ ...UNSETTLED, now, isCharge: charges, costs: lines.map(() => cost) });
    return decision;
  }

  function settle(one: Taken, now: number, used: number): Decision {
    const { units, until } = one.claim!;
    const verb = (used > units ? chargeReceipt : giveBackReceipt).on(algorithm);
    const argument = { receipt: one.claim!, used };
    const next = verb.next(state, now, argument);
    const answer: Settlement = verb.answer(state, next, now, argument);
    if (!one.isOpen) {
      const isNothing = next === state && answer.outcome === (now >= until ? "expired" : "unknown");
      if (!isNothing) throw new Error(`${algorithm.id} settles twice: ${answer.outcome}`);
      return answer.decision;
    }
    if (now >= until) return answer.decision;
    // Receipts whose time was over once stay over if the clock then steps back.
    const isOver = latest >= until && next === state && answer.outcome === "unknown";
    if (isOver) return answer.decision;
    const before = state;
    state = next;
    one.isOpen = false;
    lastSettled = Math.max(lastSettled, now);
    receiptCounts.settled++;
    if (answer.returned > 0) receiptCounts.returned++;
    lines.forEach(({ own }, index) => {
      // Only the newest place of a queue is given back.
      const newest = taken.findLast(({ claim }) => claim?.units !== 0);
      const isGiven = !mayDelay(own) || one === newest;
      if (used < units && isGiven) one.costs[index] = used;
    });
    if (used > units) {
      // A debt has a bound. Beyond it, a charge takes nothing.
      const costs = lines.map(({ own: { codec }, stateIn }) =>
        codec.encode(stateIn(before)) === codec.encode(stateIn(next)) ? 0 : used - units
      );
      if (costs.some((cost) => cost > 0)) {
        taken.push({ ...UNSETTLED, now, isCharge: true, costs });
      }
    }
    const wanted = { outcome: "settled", charged: Math.max(0, used - units) };
    const { outcome, charged, returned } = answer;
    if (
      outcome !== wanted.outcome || charged !== wanted.charged ||
      !(returned >= 0 && returned <= Math.max(0, units - used))
    ) throw new Error(`${algorithm.id}: ${units} settled at ${used}: ${JSON.stringify(answer)}`);
    return answer.decision;
  }

  follow(schedule, { capacity: algorithm.capacity, grids }, (now, cost, charges) => {
    receiptCounts.steps++;
    latest = Math.max(latest, now);
    const pick = picks[step++ % picks.length]!;
    if (pick % 5 === 0 && isBlockable(algorithm)) {
      const verb = pick % 2 === 0 ? block : unblock;
      state = verb.on(algorithm).next(state, now, 1 + pick % grids[0]!);
    }
    let decision: Decision;
    const settleable = taken.filter(({ claim }) => claim !== undefined);
    const one = settleable[pick % Math.max(1, settleable.length)];
    if (cost >= 0) {
      decision = charges || pick % 3 === 0 ? call(now, cost, charges) : take(now, cost);
    } else if (one === undefined) return algorithm.step(state, now, 0)[0];
    else {
      const { units } = one.claim!;
      // The debt of a large limit may reach its bound, in one part and not in another.
      const most = algorithm.capacity < 1_000 ? units + 1 : units;
      const used = pick % 3 === 0 ? least : Math.max(least, pick % (most + 1));
      decision = settle(one, now, used);
    }
    expectTexts(algorithm, state);
    wasBehind ||= now < lastSettled && taken.at(-1)?.now === now;
    lines.forEach((line, index) => {
      const base = bases[index];
      check({ line, index, base, taken, latest, wasBehind }, line.stateIn(state), now);
    });
    if (!receipts!.isOpen(state)) {
      // The key remembers nothing of earlier calls, so neither does the replay.
      if (wraps!.innerOf(state) !== state) throw new Error(`${algorithm.id} keeps an empty list`);
      receiptCounts.closed++;
      bases = lines.map((line) => line.stateIn(state));
      taken = [];
      lastSettled = -1;
      wasBehind = false;
    }
    return decision;
  });
}

/** Whether receipts can stand around an algorithm. */
function isReservable({ capacity, internals }: Algorithm): boolean {
  return internals?.returns !== undefined && capacity > 0;
}

/**
 * How little a call may cost for the replay to be the same: a window that a call opened stays where
 * it is, even if that call has cost nothing.
 */
function leastCost(algorithm: Algorithm): number {
  return algorithm.id.endsWith("/first") || mayLock(algorithm) ? 1 : 0;
}

/**
 * Whether a replay leads to the same state. A settlement that unlocks a key unlocks it now: a replay
 * may have let the key's window end meanwhile, if the window is longer than the lock, or if something
 * was charged while the key was locked. A window that is over when its lock is undone is forgotten, so
 * a clock that then steps back opens another one.
 */
function isReplayable({ line: { own }, taken, wasBehind }: Replay, state: unknown): boolean {
  if (!mayLock(own)) return true;
  if (wasBehind) return false;
  // A lock that is over still makes the next one longer.
  if (((state as Partial<GrowingLockState>).strikes ?? 0) > 0) return false;
  const numbers = own.id.split("/");
  const { period } = own.policies[0]!;
  const lock = parseInt(numbers[numbers.indexOf(String(period)) + 1]!, 10);
  return lock >= period && !taken.some(({ isCharge }) => isCharge);
}

/** Units that are free in a line, below 0 in debt. */
function roomIn({ own, stateIn }: Line, whole: unknown, now: number): number {
  const { remaining, debt } = own.step(stateIn(whole), now, 0)[0];
  return remaining - debt;
}

/** The most words of states that are written at each step. */
const MOST_WORDS = 4_096;

/** A state has one text and one list of words, which read as the same state. */
function expectTexts({ id, codec }: Algorithm, state: unknown): void {
  const text = codec.encode(state);
  const read = [codec.decode(text)];
  if (codec.maxWords <= MOST_WORDS) {
    const words = new Float64Array(codec.maxWords);
    read.push(codec.read(words, 0, codec.write(state, words, 0)));
  }
  for (const each of read) {
    if (each === undefined || codec.encode(each) !== text) {
      throw new Error(`${id} does not read its own state: ${text}`);
    }
  }
}

/** The state of a replay, in which each call costs what it cost by now. */
function replayed({ line: { own }, index, base, taken }: Replay): unknown {
  let state = base;
  for (const { now, costs } of taken) {
    if (costs[index]! > 0) state = own.charge(state, now, costs[index]!)[1];
  }
  return state;
}

function expectSame(replay: Replay, state: unknown, now: number): void {
  const { own } = replay.line;
  if (!isReplayable(replay, state)) return;
  receiptCounts.replays++;
  const wanted = replayed(replay);
  const { retryAfter, resetAfter } = own.step(state, now, own.capacity)[0];
  for (const wait of [0, 1, retryAfter - 1, retryAfter, resetAfter - 1, resetAfter]) {
    const at = now + wait;
    if (!(wait >= 0 && at <= LAST_INSTANT)) continue;
    for (const cost of [0, 1, own.capacity]) {
      const [one, next] = own.step(state, at, cost);
      const [other, otherNext] = own.step(wanted, at, cost);
      const isSame = inWords(one) === inWords(other) &&
        (!one.allowed || cost === 0 || own.codec.encode(next) === own.codec.encode(otherNext));
      if (!isSame) throw difference(replay, state, wanted, at, cost, one, other);
    }
  }
}

function expectNoLess(replay: Replay, state: unknown, now: number): void {
  const { own } = replay.line;
  // A window forgets what has left it at a call or a settlement, also if the clock then steps back.
  // It is the same again once the clock has caught up.
  const isBehind = own.internals?.returns?.ticks.length === 0 && now < replay.latest;
  if (isBehind || !isReplayable(replay, state)) return;
  receiptCounts.replays++;
  const wanted = replayed(replay);
  const [one] = own.step(state, now, 0);
  const [other] = own.step(wanted, now, 0);
  if (one.remaining - one.debt > other.remaining - other.debt) {
    throw difference(replay, state, wanted, now, 0, one, other);
  }
}

function difference(
  { line: { own }, index, taken }: Replay,
  state: unknown,
  wanted: unknown,
  at: number,
  cost: number,
  one: Decision,
  other: Decision,
): Error {
  const calls = taken.map(({ now, claim, costs }) =>
    `${now}: ${claim === undefined ? "" : `${claim.units}, now `}${costs[index]}`
  );
  return new Error(
    `${own.id}: cost ${cost} at ${at} after ${calls.join("; ")}\n` +
      `is    ${inWords(one)} ${own.codec.encode(state)}\n` +
      `not   ${inWords(other)} ${own.codec.encode(wanted)}`,
  );
}
