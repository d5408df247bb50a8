/*
 * Waiting for one's turn.
 *
 * Each key that somebody waits for has a line. Only its head tries, and nothing is taken for those
 * behind it; so a large cost is not overtaken by small ones, and whoever gives up has taken nothing.
 * The head sleeps for as long as its refusal said, then tries again: one timer per line, and one
 * call to the store at a time. Those who were admitted by a `leakyQueue` then sleep out their delay.
 *
 * Who has a `maxWait` is judged when joining, and again when the head was refused otherwise than
 * foreseen: from the state that the head's last refusal saw, all in line are admitted one after the
 * other, as a fold of the reducer. What each one leads to is kept, so that a joiner costs one step;
 * all are judged anew when the clock that decides has stepped back.
 * Where another store answers, or a failure policy, only the head's own wait is known: whoever has no
 * time for that is refused.
 */

import { type Answer, isPromise } from "./answer.ts";
import type { Decision } from "./decision.ts";
import { RateLimitedError } from "./errors.ts";
import {
  type Admission,
  type Base,
  closeEmpty,
  type Line,
  lineOf,
  type Lines,
  stir,
  type Waiter,
  type Wish,
} from "./line.ts";
import { attempting, givingBackTheNewest, project, type Sight } from "./projection.ts";
import { starterOf, waitOut } from "./starting_place.ts";

/** A store's clock that is further behind than foreseen, in milliseconds, has stepped back. */
const LARGEST_JITTER = 100;

/**
 * Waits for one's turn, takes, and waits out the delay.
 *
 * @param lines The store's lines.
 * @param stored The stored key.
 * @throws {RateLimitedError} If the wait would be longer than `maxWait`.
 */
export async function waitInLine(lines: Lines, stored: string, wish: Wish): Promise<Decision> {
  wish.signal?.throwIfAborted();
  const line = lineOf(lines, stored);
  const close = () => closeEmpty(lines, stored, line);
  try {
    const { decision, starter } = await join(line, wish, close);
    if (starter !== undefined) await waitOut(line, wish, starter, decision.delay);
    return decision;
  } finally {
    close();
  }
}

/** Tells the head of a key's line, if there is one, that units were given back. */
export function stirLine(lines: Lines, stored: string): void {
  const line = lines.get(stored);
  if (line !== undefined) stir(line);
}

/** Queues, and is admitted or fails. The first in line tries before anything else can run. */
function join(line: Line, wish: Wish, close: () => void): Promise<Admission> {
  const { maxWait, signal } = wish;
  return new Promise((resolve, reject) => {
    const waiter: Waiter = {
      wish,
      deadline: Math.ceil(wish.owner.passing() + maxWait),
      leads: undefined,
      told: undefined,
      admit(admission) {
        signal?.removeEventListener("abort", abort);
        resolve(admission);
      },
      fail(reason) {
        const tries = line.trying && line.waiting[0] === waiter;
        leave(line, waiter);
        signal?.removeEventListener("abort", abort);
        if (wish.whole && tries) waiter.told = () => reject(reason);
        else reject(reason);
      },
    };
    const abort = () => waiter.fail(signal!.reason);
    signal?.addEventListener("abort", abort);
    line.waiting.push(waiter);
    if (maxWait < Infinity) line.hurried++;
    try {
      if (line.serving) judge(line);
      else void serve(line).then(close);
    } catch (reason) {
      waiter.fail(reason);
    }
  });
}

/** Takes a waiter out of the line, if it is in it. */
function leave(line: Line, waiter: Waiter): void {
  const index = line.waiting.indexOf(waiter);
  if (index === -1) return;
  line.waiting.splice(index, 1);
  if (waiter.deadline < Infinity) line.hurried--;
  line.judged = Math.min(line.judged, index);
  if (index === 0) line.wake?.();
}

/** Lets the head try until the line is empty. */
async function serve(line: Line): Promise<void> {
  line.serving = true;
  for (let head = line.waiting[0]; head !== undefined; head = line.waiting[0]) {
    try {
      line.trying = true;
      line.stirred = false;
      let sight: Sight | undefined;
      const answer = attempt(line, head, (seen) => sight = seen);
      const decision = isPromise(answer) ? await answer : answer;
      line.trying = false;
      // A failure policy answers without the state, and takes nothing.
      if (decision.source === "policy") sight = undefined;
      // By the state of another store, which has a limit of its own, nothing can be foreseen.
      const foresight = decision.source === undefined ? sight : undefined;
      if (line.waiting[0] !== head) await undo(line, head, decision, sight);
      else if (decision.allowed) admit(line, head, decision, sight);
      else if (decision.retryAfter === Infinity) head.fail(neverAdmitted(head, decision));
      else {
        learn(line, head, decision, foresight);
        judge(line);
        const isUnseen = line.hurried > 0 && line.base === undefined && foresight !== undefined;
        if (line.waiting[0] === head && !line.stirred && !isUnseen) {
          await sleep(line, head, decision.retryAfter);
        }
      }
    } catch (reason) {
      line.trying = false;
      head.fail(reason);
    }
    head.told?.();
  }
  line.serving = false;
}

function attempt(
  line: Line,
  { wish, deadline }: Waiter,
  tell: (sight: Sight) => void,
): Answer<Decision> {
  const { owner, key, cost } = wish;
  const patience = Math.max(0, deadline - passing(wish));
  const trying = attempting(owner.algorithm, patience, tell, () => line.hurried > 0);
  return owner.run(key, trying, cost);
}

/** Gives back what was taken for a head that had left while its call was under way. */
async function undo(
  line: Line,
  { wish }: Waiter,
  decision: Decision,
  sight: Sight | undefined,
): Promise<void> {
  if (!decision.allowed || sight === undefined) return;
  const { owner, key, cost } = wish;
  const refunding = decision.delay === 0
    ? owner.algorithm
    : givingBackTheNewest(owner.algorithm, sight.freshAt);
  stir(line);
  await owner.run(key, refunding, -cost);
}

function admit(line: Line, head: Waiter, decision: Decision, sight: Sight | undefined): void {
  line.waiting.shift();
  if (head.deadline < Infinity) line.hurried--;
  const isForeseen = line.judged > 0 && decision.source === undefined;
  line.base = isForeseen ? { ...line.base!, ...head.leads! } : undefined;
  line.judged = isForeseen ? line.judged - 1 : 0;
  const starter = sight && starterOf(line, decision, sight.freshAt, head.wish.cost);
  head.admit({ decision, starter });
}

/** Keeps what a refused head saw, unless all is as foreseen or nobody is in a hurry. */
function learn(
  line: Line,
  { wish, leads }: Waiter,
  decision: Decision,
  sight: Sight | undefined,
): void {
  if (sight === undefined) return giveUp(line, decision);
  const foreseen = line.judged > 0 && leads!.at === sight.at + decision.retryAfter;
  if (foreseen && instantBy(line.base!) - sight.at <= LARGEST_JITTER) return;
  line.judged = 0;
  line.base = undefined;
  // Whoever was not in a hurry when the store was asked may be now: the head then tries again.
  if (line.hurried === 0 || sight.refusedFrom === undefined) return;
  line.base = { ...sight.refusedFrom, owner: wish.owner, ahead: sight.at - passing(wish) };
}

/** Refuses those whose time is up before the head may try again: all that is known unseen. */
function giveUp(line: Line, decision: Decision): void {
  line.judged = 0;
  line.base = undefined;
  for (const waiter of [...line.waiting]) {
    if (!isTooLate(waiter, decision.retryAfter)) continue;
    waiter.fail(rateLimited(waiter.wish, decision));
  }
}

/** Whether so long a wait from now would end after the deadline. Waits are whole milliseconds. */
function isTooLate({ wish, deadline }: Waiter, wait: number): boolean {
  return passing(wish) + wait > deadline;
}

/** The store's time, as far as can be told. */
function instantBy(base: Base): number {
  return passing(base) + base.ahead;
}

/** The whole milliseconds that have passed, from an instant of no meaning. */
function passing({ owner }: Pick<Wish, "owner">): number {
  return Math.floor(owner.passing());
}

/** Refuses those who could not start in time, as far as can be foreseen. */
function judge(line: Line): void {
  const { base } = line;
  if (line.trying || line.hurried === 0) return;
  // Without a base the head tries again, to see the state.
  if (base === undefined) return line.wake?.();
  while (line.judged < line.waiting.length) {
    const waiter = line.waiting[line.judged]!;
    const { owner, cost } = waiter.wish;
    const from = line.judged === 0 ? base : line.waiting[line.judged - 1]!.leads!;
    const instant = Math.max(0, instantBy(base));
    const projection = project(owner.algorithm, from, instant, cost);
    if (isTooLate(waiter, projection.wait)) {
      const [look] = owner.algorithm.step(base.state, instant, 0);
      waiter.fail(
        rateLimited(waiter.wish, { ...look, allowed: false, retryAfter: projection.wait }),
      );
    } else {
      waiter.leads = projection;
      line.judged++;
    }
  }
}

/** Sleeps until the head may be admitted, leaves, or units are given back. */
function sleep(line: Line, { wish }: Waiter, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    let cancel = () => {};
    line.wake = () => {
      line.wake = undefined;
      cancel();
      resolve();
    };
    cancel = wish.owner.after(milliseconds, line.wake);
  });
}

/** The error of a head that another store than the limiter's own can never serve. */
function neverAdmitted({ wish }: Waiter, decision: Decision): RateLimitedError {
  return rateLimited(wish, decision, "cost must be at most what the store that answers can admit");
}

/** The error of a caller that gives up, or is given up. */
export function rateLimited(
  { key, cost }: Pick<Wish, "key" | "cost">,
  decision: Decision,
  rule = "its turn must come within maxWait",
): RateLimitedError {
  const wait = decision.retryAfter === Infinity
    ? "it would never come"
    : `it would come in ${decision.retryAfter} ms`;
  return new RateLimitedError(
    `Cannot acquire ${cost} of ${JSON.stringify(key)} as ${rule}: ${wait}`,
    decision,
  );
}
