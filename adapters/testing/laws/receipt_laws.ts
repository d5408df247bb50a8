/*
 * The laws of receipts. Whoever gives units back by a receipt must not free the units of somebody
 * else: the state is that of a replay in which the call had cost so much less. And a time to live is
 * a timer that nobody has to set.
 */

import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import { gcra } from "../../../core/algorithms/gcra.ts";
import type { Decision } from "../../../core/decision.ts";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import { plainState, unitsLeft } from "../../../core/receipts/noted.ts";
import type { Receipts } from "../../../core/receipts/returns.ts";
import { block, isBlockable, unblock } from "../../../core/verbs/block.ts";
import { type Mark, reserve, reserveFor } from "../../../core/verbs/reserve.ts";
import { chargeReceipt, giveBackReceipt, type SettleArgument } from "../../../core/verbs/settle.ts";
import { follow, type Schedule, schedules } from "../arbitraries/schedules.ts";
import { gridsOf, type Subject } from "../arbitraries/subjects.ts";
import { type Law, law } from "../law.ts";
import { inWords } from "../table.ts";

/** A call that was admitted. */
interface Taken {
  readonly now: number;
  readonly mark: Mark;
  readonly units: number;
  /** Its cost by now in each line, in the units of the replay. */
  readonly costs: number[];
  left: number;
}

/** An algorithm, or a part of it, that is replayed by itself. */
interface Line {
  /** The algorithm that decides where the key is not blocked. */
  readonly own: Algorithm;
  readonly receipts: Receipts | undefined;
  /** The algorithm whose unit is one tick, and how many of them a unit is. */
  readonly finer: Algorithm;
  readonly unit: number;
  /** Its state in that of the whole, and the marks of it. */
  stateIn(whole: unknown): unknown;
  marksIn(marks: readonly number[]): readonly number[];
  /** Whether floats have told each tick until now. */
  isExact: boolean;
}

/** How much the laws have tried, in this process: a law that tries nothing holds, and says nothing. */
export const receiptCounts = { steps: 0, refunds: 0, returned: 0, replays: 0, timers: 0 };

/** The laws of receipts of any algorithm. */
export function receiptLaws(subjects: fc.Arbitrary<Subject>): readonly Law[] {
  const drawn = [
    subjects,
    schedules({ stepsBack: false, refunds: true, charges: false, maxLength: 32 }),
    fc.array(fc.nat(), { minLength: 32, maxLength: 32 }),
  ] as const;
  return [
    law(
      "a receipt leaves the state of a replay in which its call had cost so much less",
      fc.property(...drawn, (subject, schedule, picks) => {
        replayed(subject, schedule, picks);
      }),
    ),
    law(
      "units with a time to live come back as if by a timer, and waits say when",
      fc.property(...drawn, (subject, schedule, picks) => {
        timed(subject, schedule, picks);
      }),
    ),
    law(
      "a receipt gives back once, however far apart the clocks of its callers are",
      fc.property(subjects, fc.nat(), fc.nat(), fc.nat(), ({ algorithm }, ...picks) => {
        settledApart(algorithm, picks);
      }),
    ),
  ];
}

/** Settles a receipt by a clock that is behind that of its call, then again by that one. */
function settledApart(algorithm: Algorithm, [cost, behind, later]: readonly number[]): void {
  if (algorithm.internals?.receipts === undefined || algorithm.capacity === 0) return;
  const called = LAST_INSTANT / 2;
  const units = 1 + cost! % algorithm.capacity;
  const taking = reserve.on(algorithm);
  const settling = giveBackReceipt.on(algorithm);
  const call = { cost: units, id: 1, ttl: 0 };
  const taken = taking.next(algorithm.initial, called, call);
  const { mark } = taking.answer(algorithm.initial, taken, called, call);
  if (mark === undefined) return;
  const argument: SettleArgument = { receipt: { ...mark, id: 1, units }, actual: 0 };
  const before = called - behind! * 2 ** (behind! % 9);
  const settled = settling.next(taken, Math.max(0, before), argument);
  const { returned } = settling.answer(taken, settled, Math.max(0, before), argument);
  if (returned === 0) return;
  const again = called + later! % (mark.until - called);
  const { outcome } = settling.answer(
    settled,
    settling.next(settled, again, argument),
    again,
    argument,
  );
  if (outcome !== "unknown") {
    throw new Error(
      `${algorithm.id} settles again what was settled by a clock ${called - before} ms behind`,
    );
  }
}

/**
 * The algorithm whose unit is one tick of another's, so that a part of a unit is whole units. What
 * does not drain gives whole units back, and is its own.
 */
function finerOf(algorithm: Algorithm): { readonly finer: Algorithm; readonly unit: number } {
  const [name, ...numbers] = algorithm.internals?.formula ?? [];
  if (name !== "ticks" && name !== "fine") return { finer: algorithm, unit: 1 };
  const [perMillisecond, interval, burst] =
    (name === "ticks" ? [numbers[0], numbers[2], numbers[3]] : numbers) as number[];
  const rate = { limit: perMillisecond!, period: 1, burst: burst! * interval! };
  return { finer: gcra(rate) as Algorithm, unit: interval! };
}

/**
 * How little a call may cost after its refund for the replay to be the same: a window that a call
 * opens cannot be replayed without its opener.
 */
function leastCost({ id }: Algorithm): number {
  return id.endsWith("/first") || id.startsWith("lockout/") ? 1 : 0;
}

/** The lines of an algorithm: its parts, or itself. */
function linesOf(algorithm: Algorithm): readonly Line[] {
  const { parts, blocks, receipts } = algorithm.internals ?? {};
  if (parts === undefined) {
    const own = blocks?.inner ?? algorithm;
    return [{
      own,
      receipts,
      ...finerOf(own),
      stateIn: (state) => state,
      marksIn: (marks) => marks,
      // A replay that unlocks later is another one.
      isExact: !isLockedShort(own),
    }];
  }
  let start = 0;
  return parts.flatMap((part, index) => {
    const first = start;
    start += part.internals?.receipts?.size ?? 0;
    const end = start;
    return linesOf(part).map((line): Line => ({
      ...line,
      stateIn: (whole) => line.stateIn((plainState(whole) as readonly unknown[])[index]),
      marksIn: (marks) => line.marksIn(marks.slice(first, end)),
    }));
  });
}

/**
 * Gives units back by receipts where a schedule gives units back, and replays what is left of each
 * line; keys that can be blocked are blocked at times.
 */
function replayed({ algorithm, ...subject }: Subject, schedule: Schedule, picks: number[]): void {
  const receipts = algorithm.internals?.receipts;
  // An algorithm that does not say how units are given back gives none back.
  if (receipts === undefined) return;
  const lines = linesOf(algorithm);
  const least = Math.max(...lines.map(({ own }) => leastCost(own)));
  const taking = reserve.on(algorithm);
  const settling = giveBackReceipt.on(algorithm);
  const taken: Taken[] = [];
  let state: unknown = algorithm.initial;
  let step = 0;
  /** The newest call, if nothing has been given back since. */
  let untouched: Taken | undefined;
  const grids = gridsOf({ algorithm, ...subject });

  /** The units that each line gives back. */
  function returnsOf(
    now: number,
    { mark, units, left }: Taken,
    id: number,
    back: number,
  ): number[] {
    const held = receipts!.settled(state, now);
    const known = unitsLeft(receipts!.entries(held), id) ?? units;
    if (now >= mark.until) return lines.map(() => 0);
    if (known < left) throw new Error(`${algorithm.id} knows of ${known} units, not ${left}`);
    return lines.map((line) =>
      line.receipts?.giveBack(
        line.stateIn(held),
        now,
        back,
        line.marksIn(mark.marks),
        back === known,
      )[1] ?? 0
    );
  }

  /** Settles a receipt again whose units have all been given back: nothing may come of that. */
  function settledAgain(
    { units }: Taken,
    receipt: SettleArgument["receipt"],
    now: number,
    isRemembered: boolean,
  ): void {
    const held = receipts!.entries(receipts!.settled(state, now));
    const isKnown = unitsLeft(held, receipt.id) !== undefined;
    if (isRemembered && !isKnown) throw new Error(`${algorithm.id} forgets a receipt at once`);
    // Where nothing counted any more, nothing had to be remembered.
    for (const actual of isKnown ? [0, units, units + 1] : [0]) {
      const verb = actual > units ? chargeReceipt.on(algorithm) : settling;
      const argument = { receipt, actual };
      const next = verb.next(state, now, argument);
      const { outcome, returned, charged } = verb.answer(state, next, now, argument);
      const isNothing = next === state && returned === 0 && charged === 0;
      if (isNothing && (outcome === "unknown" || !isKnown)) continue;
      throw new Error(`${algorithm.id} settles a receipt twice: ${outcome}`);
    }
  }

  follow(schedule, { capacity: algorithm.capacity, grids }, (now, cost) => {
    receiptCounts.steps++;
    const pick = picks[step++ % picks.length]!;
    if (pick % 5 === 0 && isBlockable(algorithm)) {
      state = pick % 2 === 0
        ? block.on(algorithm).next(state, now, 1 + pick % grids[0]!)
        : unblock.on(algorithm).next(state, now, 0);
    }
    // Whoever settles a call once it is over gets nothing back.
    expectOver(algorithm, state, now, taken.at(pick % Math.max(1, taken.length)));
    if (cost >= 0) {
      const argument = { cost, id: step, ttl: 0 };
      const next = taking.next(state, now, argument);
      const { decision, mark } = taking.answer(state, next, now, argument);
      if (mark !== undefined) {
        const costs = lines.map(({ unit }) => cost * unit);
        untouched = { now, mark, units: cost, costs, left: cost };
        taken.push(untouched);
      }
      state = next;
      return decision;
    }
    const one = taken[pick % Math.max(1, taken.length)];
    const most = one === undefined ? 0 : one.left - least;
    if (one === undefined || most <= 0) return algorithm.step(state, now, 0)[0];
    const back = Math.min(most, pick % 3 === 0 ? most : 1 + pick % one.units);
    const receipt = { ...one.mark, id: 1 + one.now * 1_000 + taken.indexOf(one), units: one.units };
    const argument: SettleArgument = { receipt, back };
    receiptCounts.refunds++;
    const returns = returnsOf(now, one, receipt.id, back);
    const next = settling.next(state, now, argument);
    const { decision, returned, outcome } = settling.answer(state, next, now, argument);
    // Settled so often that the state has forgotten it: what was given back may be so again.
    if (outcome === "settled") one.left -= back;
    const all = one === untouched && one.now === now ? back : 0;
    untouched = undefined;
    if (returned !== Math.max(0, ...returns) || !(returned >= all && returned <= back)) {
      throw new Error(`${algorithm.id} gives back ${returned} of ${back} units, not ${returns}`);
    }
    state = next;
    if (returned > 0) receiptCounts.returned++;
    if (one.left === 0) settledAgain(one, receipt, now, returned > 0);
    lines.forEach((line, index) => {
      const ticks = returns[index]! * line.unit;
      const whole = Math.round(ticks);
      const isWhole = Math.abs(whole - ticks) <= ticks * 2 ** -50;
      // A part of a unit is a float, which tells so many ticks only. A share has no finer algorithm.
      if (ticks > 2 ** 50 || (!isWhole && line.own.internals?.formula === undefined)) {
        line.isExact = false;
      } else if (!isWhole) {
        throw new Error(`${algorithm.id} gives back ${ticks} ticks`);
      }
      one.costs[index]! -= whole;
      if (!line.isExact) return;
      receiptCounts.replays++;
      expectReplay(line, index, taken, stateOf(line, state, now), now);
    });
    return decision;
  });
}

/** The state of a line without its block, and with what is over by now given back. */
function stateOf({ own, stateIn }: Line, whole: unknown, now: number): unknown {
  const state = stateIn(whole);
  const covered = (state as { readonly covered?: unknown } | undefined)?.covered ?? state;
  return plainState(own.internals?.receipts?.settled(covered, now) ?? covered);
}

/** Units of a call count no longer once its receipt says so. */
function expectOver(
  { id, internals }: Algorithm,
  state: unknown,
  now: number,
  taken: Taken | undefined,
): void {
  if (taken === undefined) return;
  const { mark: { until, marks }, units } = taken;
  const over = Math.max(now, until);
  if (over > LAST_INSTANT) return;
  const [, returned] = internals!.receipts!.giveBack(state, over, units, marks, false);
  if (returned > 0) throw new Error(`${id} counts ${returned} units at ${over}, after ${until}`);
}

/** Whether a lockout unlocks before its window would have ended: then a replay is another one. */
function isLockedShort({ id }: Algorithm): boolean {
  const [factory, , period, lock] = id.split("/");
  return factory === "lockout" && parseInt(lock!, 10) < Number(period);
}

function expectReplay(
  { own: algorithm, finer, unit }: Line,
  index: number,
  taken: readonly Taken[],
  state: unknown,
  now: number,
): void {
  let expected: unknown = finer.initial;
  for (const { now, costs } of taken) {
    const cost = costs[index]!;
    if (cost > 0) expected = finer.charge(expected, now, cost)[1];
  }
  const { retryAfter, resetAfter } = algorithm.step(state, now, algorithm.capacity)[0];
  for (const wait of [0, 1, retryAfter - 1, retryAfter, resetAfter - 1, resetAfter]) {
    const at = now + wait;
    if (!(wait >= 0 && at <= LAST_INSTANT)) continue;
    for (const cost of [0, 1, algorithm.capacity]) {
      const [found, next] = algorithm.step(state, at, cost);
      const [wanted, other] = finer.step(expected, at, cost * unit);
      const text = algorithm.codec.encode(next);
      const otherText = algorithm.codec.encode(other);
      const isSame = found.allowed === wanted.allowed && found.resetAfter === wanted.resetAfter &&
        (cost === 0 || found.retryAfter === wanted.retryAfter) &&
        (!found.allowed || cost === 0 || text === otherText);
      if (isSame) continue;
      const calls = taken.map(({ now, units, costs }) =>
        `${now}: ${units}, now ${costs[index]! / unit}`
      );
      throw new Error(
        `${algorithm.id}: cost ${cost} at ${at} after ${calls.join("; ")}\n` +
          `is    ${inWords(found)} ${text}\nnot   ${inWords(wanted)} ${otherText}`,
      );
    }
  }
}

/** A timer that gives units back. */
interface Timer {
  readonly id: number;
  readonly until: number;
  readonly mark: Mark;
  readonly units: number;
  left: number;
}

/** Reserves with a time to live, and settles; beside it, a plain state and a list of timers. */
function timed({ algorithm, ...subject }: Subject, schedule: Schedule, picks: number[]): void {
  const receipts = algorithm.internals?.receipts;
  if (receipts === undefined) return;
  const { blocks } = algorithm.internals!;
  const taking = reserveFor.on(algorithm);
  const grids = gridsOf({ algorithm, ...subject });
  let timers: Timer[] = [];
  let state: unknown = algorithm.initial;
  let plain: unknown = algorithm.initial;
  let step = 0;

  function runTimers(now: number): void {
    for (const { until, left, mark } of timers.filter(({ until }) => until <= now)) {
      if (left > 0) plain = receipts!.giveBack(plain, until, left, mark.marks, true)[0];
    }
    timers = timers.filter(({ until }) => until > now);
  }

  function act(now: number, cost: number, pick: number): Decision {
    if (cost >= 0) {
      const ttl = pick % 4 === 0 ? 0 : 1 + pick % (2 * grids[pick % grids.length]!);
      const argument = { cost, id: step, ttl };
      const verb = ttl === 0 ? reserve.on(algorithm) : taking;
      const next = verb.next(state, now, argument);
      const { decision, mark } = verb.answer(state, next, now, argument);
      state = next;
      const [wanted, after] = algorithm.step(plain, now, cost);
      if (wanted.allowed !== decision.allowed || wanted.remaining !== decision.remaining) {
        throw new Error(`${algorithm.id} at ${now}: ${inWords(decision)}, not ${inWords(wanted)}`);
      }
      plain = after;
      if (mark?.expires) {
        receiptCounts.timers++;
        const timer = { id: step, until: mark.until, mark, units: cost, left: cost };
        const at = timers.findLastIndex(({ until }) => until <= timer.until) + 1;
        timers.splice(at, 0, timer);
      }
      return decision;
    }
    const timer = timers[pick % Math.max(1, timers.length)];
    if (timer === undefined) return algorithm.step(state, now, 0)[0];
    const actual = pick % (timer.units + 2);
    const receipt = { ...timer.mark, id: timer.id, units: timer.units };
    const settling = (actual > timer.units ? chargeReceipt : giveBackReceipt).on(algorithm);
    const argument = { receipt, actual };
    const next = settling.next(state, now, argument);
    const { decision, outcome } = settling.answer(state, next, now, argument);
    if (outcome !== "settled") throw new Error(`${algorithm.id}: an open receipt is ${outcome}`);
    state = next;
    plain = actual > timer.left
      ? algorithm.charge(plain, now, actual - timer.left)[1]
      : timer.left > actual
      ? receipts!.giveBack(plain, now, timer.left - actual, timer.mark.marks, true)[0]
      : plain;
    timers = timers.filter((each) => each !== timer);
    const again = settling.next(state, now, { receipt, actual: 0 });
    if (again !== state) throw new Error(`${algorithm.id}: a receipt was settled twice`);
    return decision;
  }

  follow(schedule, { capacity: algorithm.capacity, grids }, (now, cost) => {
    const pick = picks[step++ % picks.length]!;
    receiptCounts.steps++;
    runTimers(now);
    if (blocks !== undefined && pick % 5 === 0) {
      const until = now + 1 + pick % grids[0]!;
      const change = pick % 2 === 0
        ? (state: unknown) => blocks.block(state, until)
        : blocks.covered;
      state = change(state);
      plain = change(plain);
    }
    const decision = act(now, cost, pick);
    expectSameState(algorithm, receipts.settled(state, now), plain, now);
    expectWaits(algorithm, state, now);
    return decision;
  });
}

/** The state without notes, and without a block that is over. */
function withoutNotes({ internals }: Algorithm, state: unknown, now: number): unknown {
  const { blocks } = internals ?? {};
  if (blocks === undefined) return plainState(state);
  const covered = plainState(blocks.covered(state));
  const until = blocks.until(state);
  return until <= now ? covered : blocks.block(covered, until);
}

function expectSameState(
  algorithm: Algorithm,
  found: unknown,
  wanted: unknown,
  now: number,
): void {
  const [a, b] = [found, wanted].map((state) =>
    algorithm.codec.encode(withoutNotes(algorithm, state, now))
  );
  const isSame = a === b ||
    algorithm.step(withoutNotes(algorithm, found, now), now, 0)[0].resetAfter === 0 &&
      algorithm.step(wanted, now, 0)[0].resetAfter === 0;
  if (!isSame) throw new Error(`${algorithm.id} at ${now} keeps ${a}, not ${b}`);
}

/** The waits of a state are the first milliseconds at which what they promise is so. */
function expectWaits({ id, step, capacity }: Algorithm, state: unknown, now: number): void {
  const look = (wait: number, cost: number) => step(state, now + wait, cost)[0];
  const within = (wait: number) => wait < Infinity && now + wait <= LAST_INSTANT;
  for (const cost of [1, capacity]) {
    const { allowed, retryAfter } = look(0, cost);
    if (allowed || !within(retryAfter)) continue;
    const isFirst = look(retryAfter, cost).allowed && !look(retryAfter - 1, cost).allowed;
    if (!isFirst) throw new Error(`${id} at ${now}: ${retryAfter} is not when ${cost} is admitted`);
  }
  const { remaining, nextAfter, resetAfter } = look(0, 0);
  if (remaining < capacity && within(nextAfter)) {
    const grows = look(nextAfter, 0).remaining > remaining &&
      look(nextAfter - 1, 0).remaining <= remaining;
    if (!grows) throw new Error(`${id} at ${now}: ${nextAfter} is not when ${remaining} grows`);
  }
  if (!within(resetAfter) || resetAfter === 0) return;
  const isFresh = look(resetAfter, 0).resetAfter === 0 && look(resetAfter - 1, 0).resetAfter > 0;
  if (!isFresh) throw new Error(`${id} at ${now}: ${resetAfter} is not when the key is fresh`);
}
