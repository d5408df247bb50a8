/*
 * Waiting for one's turn: what runs the queue of a key.
 *
 * Only the head of a queue tries, and nothing is taken for those behind it; so a large cost is not
 * overtaken by small ones, and whoever leaves has taken nothing. The head sleeps for as long as its
 * refusal said, then tries again: one call to the store at a time.
 *
 * A queue says by instants what is to happen: when the head tries again, when a caller that is charged
 * starts, when the time of a caller is up. Whatever changes a queue (a caller joins or leaves, an answer
 * comes, units come back, its timer fires) ends in `advance`, which does all that is due and sets
 * the queue's one timer to what is due next.
 *
 * While the store does not answer, callers fail when their time is up: the head, whose call is given
 * up so that the next caller tries, and those behind it. Units that such a call takes later are
 * given back. The silence counts from the first unanswered call.
 *
 * A caller that a `leakyQueue` has admitted sleeps out its delay. If it leaves meanwhile, it gives
 * its place back only if that is the newest: if a place in the middle were given back, the next
 * call would be given the newest one, which is taken. A caller with an older place is marked, and
 * stays until those behind it are gone.
 */

import { passingTime, timerOf } from "../clock.ts";
import type { LimiterInternals } from "../limiter/limiter_internals.ts";
import { remove } from "../linked_list.ts";
import { andThen, isPromise, type MaybePromise, orElse } from "../maybe_promise.ts";
import type { Store, StoreBase } from "../store.ts";
import type { Attempt } from "../verbs/attempt.ts";
import { earliest } from "../deadlines.ts";
import { nextToProject, observeRefusal, refuseByProjection } from "./projections.ts";
import {
  admitHead,
  countOrRefuse,
  dequeue,
  enqueue,
  fail,
  firstStaying,
  forgetState,
  hasRoom,
  type HeadCall,
  isWaiting,
  type Line,
  newQueue,
  noteRefusal,
  type Outcome,
  type Place,
  refuse,
  timeLeft,
  tryAgain,
  uncount,
  type Waiter,
  type WaitingQueue,
  type WaitRequest,
} from "./queue.ts";
import { hearsOthers, onUnitsBack } from "./units_back.ts";
import { signalGroups } from "./signals.ts";
import { inTurn, MAX_PER_TURN, turn } from "./turns.ts";
import { closed, IN_TIME, rateLimited, unanswered } from "./wait_errors.ts";

/**
 * The milliseconds that a store always has for an answer, so that a call sent just before its
 * caller's deadline is not given up at once.
 */
export const MIN_ANSWER_TIME = 250;

/** The queues of one store, in this thread. */
interface Queues {
  /** By stored key. */
  readonly byName: Map<string, WaitingQueue>;
  isClosed: boolean;
}

/** A limiter's callers that wait, and where. */
interface OwnLine extends Line {
  readonly queues: Queues;
}

const queuesOfStores = new WeakMap<Store, Queues>();
const linesOfLimiters = new WeakMap<LimiterInternals, OwnLine>();
const signals = signalGroups<Waiter>(leave);

function queuesOf(store: Store): Queues {
  const known = queuesOfStores.get(store);
  if (known !== undefined) return known;
  const queues: Queues = { byName: new Map(), isClosed: false };
  queuesOfStores.set(store, queues);
  (store as StoreBase).onClose?.(() => {
    queues.isClosed = true;
    for (const queue of [...queues.byName.values()]) end(queue);
  });
  return queues;
}

function lineOf(limiter: LimiterInternals): OwnLine {
  let line = linesOfLimiters.get(limiter);
  if (line === undefined) {
    line = { most: limiter.maxWaiting, waiting: 0, queues: queuesOf(limiter.store) };
    linesOfLimiters.set(limiter, line);
  }
  return line;
}

/**
 * Waits for the caller's turn, takes, and waits out the delay. If nobody waits and the store admits
 * at once, no queue is opened.
 *
 * @throws {RateLimitedError} If the wait would be longer than `maxWait`.
 * @throws {StoreUnavailableError} If the store has not answered by then, or is closed.
 */
export function waitInQueue(request: WaitRequest): MaybePromise<Outcome> {
  const { limiter, key, maxWait, taking } = request;
  const line = lineOf(limiter);
  const { queues } = line;
  if (queues.isClosed) throw closed(request, "no");
  const queue = queues.byName.size === 0
    ? undefined
    : queues.byName.get(limiter.family.nameOf(key));
  if (queue !== undefined) return enter(queue, line, request, join);
  const answer = taking.take(request, hasRoom(line) ? maxWait : 0);
  if (!isPromise(answer) && answer.decision.allowed) {
    if (answer.decision.delay === 0 || answer.sight === undefined) return answer;
  }
  return enter(open(queues, request), line, request, (waiter) => {
    const { queue } = waiter;
    // The answer may have missed units that came back before the queue listened.
    send(waiter, answer, hearsOthers(limiter), queue.passing());
    advance(queue);
  });
}

/** Opens the queue of a key, which hears of units that come back until nobody is in it. */
function open({ byName }: Queues, { limiter, key }: WaitRequest): WaitingQueue {
  const { clock } = limiter;
  const name = limiter.family.nameOf(key);
  const queue = newQueue({
    passing: passingTime(clock),
    after: timerOf(clock),
    forget() {
      if (byName.get(name) === queue) byName.delete(name);
      stop();
    },
  });
  const stop = onUnitsBack(limiter, key, name, () => {
    if (queue.call !== undefined) queue.call.isOutdated = true;
    forgetState(queue);
    tryAgain(queue);
    advance(queue);
  });
  byName.set(name, queue);
  return queue;
}

function enter(
  queue: WaitingQueue,
  line: Line,
  request: WaitRequest,
  begin: (waiter: Waiter) => void,
): Promise<Outcome> {
  const { limiter, key, cost, maxWait, signal, afterUndo, taking } = request;
  return new Promise((resolve, reject) => {
    const waiter: Waiter = {
      limiter,
      key,
      cost,
      maxWait,
      signal,
      afterUndo,
      taking,
      line,
      queue,
      list: undefined,
      previous: undefined,
      next: undefined,
      deadline: maxWait === Infinity ? Infinity : Math.ceil(queue.passing() + maxWait),
      counted: false,
      projection: undefined,
      place: undefined,
      resolve(outcome) {
        if (signal !== undefined) signals.remove(signal, waiter);
        resolve(outcome);
      },
      reject(reason) {
        if (signal !== undefined) signals.remove(signal, waiter);
        reject(reason);
      },
    };
    if (signal !== undefined) signals.add(signal, waiter);
    enqueue(queue, waiter);
    begin(waiter);
  });
}

function join(waiter: Waiter): void {
  const { queue, deadline, taking } = waiter;
  if (queue.isRefused) countOrRefuse(waiter);
  // Whoever is the head goes on by itself.
  if (deadline === Infinity && queue.waiting.first !== waiter) return;
  // Another store answered for the limiter's own, which may be back.
  if (queue.observed === undefined && deadline < Infinity && taking.foretells) tryAgain(queue);
  advance(queue);
}

/** Does all that is due, then sets the timer to what is due next, or forgets the queue. */
function advance(queue: WaitingQueue, reached: number = -Infinity): void {
  const now = Math.max(queue.passing(), reached);
  startDelayed(queue, now);
  if (queue.call !== undefined) failUnanswered(queue, now);
  let tries = 0;
  while (queue.call === undefined && queue.waiting.first !== undefined) {
    if (queue.triesAt > now) refuseByProjection(queue, now);
    if (queue.triesAt > now) refuseLate(queue, now);
    const head = queue.waiting.first;
    if (head === undefined || queue.triesAt > now) break;
    // The queue has done its share of this turn. Its timer fires in the next one.
    if (tries++ === MAX_PER_TURN) break;
    if (head.signal?.aborted) leaveLine(head, head.signal.reason);
    else send(head, undefined, false, now);
  }
  setTimer(queue, now);
}

function setTimer(queue: WaitingQueue, now: number): void {
  const { waiting, delayed, call, timer } = queue;
  const isEmpty = waiting.first === undefined && delayed.first === undefined && call === undefined;
  if (isEmpty) queue.forget();
  const due = isEmpty ? Infinity : nextDue(queue);
  if (due === timer?.due) return;
  timer?.cancel();
  queue.timer = undefined;
  if (due === Infinity) return;
  const own = { due, cancel() {} };
  queue.timer = own;
  const cancel = queue.after(Math.max(0, due - now), () => {
    if (queue.timer !== own) return;
    queue.timer = undefined;
    advance(queue, due);
  });
  own.cancel = cancel;
}

/** The instant at which something is to happen. */
function nextDue(queue: WaitingQueue): number {
  const { waiting, call, deadlines } = queue;
  const deadline = earliest(deadlines, isWaiting)?.deadline ?? Infinity;
  const staying = firstStaying(queue);
  const start = staying === undefined ? Infinity : staying.place!.startsAt;
  if (call !== undefined) return Math.min(start, Math.max(deadline, giveUpAt(queue)));
  if (waiting.first === undefined) return start;
  const projects = nextToProject(queue) === undefined ? Infinity : queue.restsUntil;
  return Math.min(start, deadline, projects, queue.triesAt);
}

/** When callers whose time is up no longer wait for the answer that is under way. */
function giveUpAt({ silentSince }: WaitingQueue): number {
  return silentSince! + MIN_ANSWER_TIME;
}

/** Sends the head's call, unless it was sent already, and acts on the answer. */
function send(
  head: Waiter,
  sent: MaybePromise<Attempt> | undefined,
  isOutdated: boolean,
  now: number,
): void {
  const { queue, taking, line, counted } = head;
  const call: HeadCall = { waiter: head, isOutdated, sentAt: now, onEnd: undefined };
  queue.call = call;
  queue.silentSince ??= call.sentAt;
  const settled = orElse<unknown>(
    () =>
      andThen(
        sent ?? taking.take(head, counted || hasRoom(line) ? timeLeft(head) : 0),
        (answer) => settle(call, answer),
      ),
    (reason) => isWaiting(head) && fail(head, () => reason),
  );
  if (!isPromise(settled)) return endCall(call);
  settled.then(() => {
    endCall(call);
    advance(queue);
  });
}

function endCall(call: HeadCall): void {
  const { waiter: { queue } } = call;
  if (queue.call === call) queue.call = undefined;
  // An answer ends the silence, even if it is the answer to a call that was given up.
  queue.silentSince = queue.call?.sentAt;
  call.onEnd?.();
}

/** Acts on a decision. Giving units back may take until later. */
function settle(call: HeadCall, answer: Attempt): MaybePromise<unknown> {
  const { waiter: head, waiter: { queue, taking } } = call;
  const { decision, sight } = answer;
  if (queue.waiting.first !== head) {
    // A failure policy answers without a state, and takes nothing.
    return decision.allowed && sight !== undefined ? taking.undoOf(head, answer)?.() : undefined;
  }
  if (decision.allowed) {
    if (!admitHead(head, answer)) return head.resolve(answer);
    const startsAt = queue.passing() + decision.delay;
    head.place = { startsAt, admitted: answer, undo: taking.undoOf(head, answer), isLeft: false };
    return undefined;
  }
  if (decision.retryAfter === Infinity) {
    const { limiter: { algorithm }, cost } = head;
    const rule = cost <= algorithm.capacity && decision.source === undefined
      ? "its key must not be blocked forever"
      : "cost must be at most the capacity of the store that answered";
    return fail(head, () => rateLimited(head, decision, rule));
  }
  const sleep = Math.min(decision.retryAfter, taking.longestSleep());
  queue.triesAt = call.isOutdated ? -Infinity : queue.passing() + sleep;
  // Nothing can be projected from the state of another store, because it has a limit of its own.
  observeRefusal(head, decision, decision.source === undefined ? sight : undefined);
  noteRefusal(queue);
  return undefined;
}

/** Refuses the callers whose time is up although their turn was expected in time. */
function refuseLate(queue: WaitingQueue, now: number): void {
  while (true) {
    const waiter = earliest(queue.deadlines, isWaiting);
    if (waiter === undefined || now < waiter.deadline) return;
    refuse(waiter, IN_TIME);
  }
}

/** Fails the callers whose time is up while the store does not answer. */
function failUnanswered(queue: WaitingQueue, now: number): void {
  const head = queue.call!.waiter;
  while (now >= giveUpAt(queue)) {
    const waiter = earliest(queue.deadlines, isWaiting);
    if (waiter === undefined || now < waiter.deadline) return;
    fail(waiter, () => unanswered(waiter, head === waiter ? "unknown" : "no"));
    if (!isWaiting(head)) queue.call = undefined;
  }
}

/**
 * Starts the callers whose delay has passed, except behind a caller that still sleeps: after a late
 * answer a caller sleeps for longer than the callers after it.
 */
function startDelayed(queue: WaitingQueue, now: number): void {
  const { delayed } = queue;
  let first = firstStaying(queue);
  while (first !== undefined && first.place!.startsAt <= now) {
    // All callers before it have left.
    while (first.list === delayed) {
      const gone = delayed.first!;
      remove(gone);
      uncount(gone);
    }
    first.resolve(first.place!.admitted);
    first = firstStaying(queue);
  }
}

/** Takes callers whose signal was aborted out of their queues; then the queues go on. */
function leave(waiters: Iterable<Waiter>, reason: unknown): void {
  const left = new Set<WaitingQueue>();
  for (const waiter of waiters) {
    left.add(waiter.queue);
    if (isWaiting(waiter)) leaveLine(waiter, reason);
    else if (waiter.place !== undefined) void leavePlace(waiter, waiter.place, reason);
  }
  for (const queue of left) advance(queue);
}

function leaveLine(waiter: Waiter, reason: unknown): void {
  const { call } = waiter.queue;
  if (waiter.afterUndo && call?.waiter === waiter) {
    dequeue(waiter);
    call.onEnd = () => waiter.reject(reason);
  } else fail(waiter, () => reason);
}

/**
 * Gives back the places of the callers that have left, starting with the newest; then fails the
 * caller that leaves now.
 */
async function leavePlace(waiter: Waiter, place: Place, reason: unknown): Promise<void> {
  const { queue, queue: { delayed } } = waiter;
  place.isLeft = true;
  uncount(waiter);
  try {
    // The first place is given back at once, so that a call right after the abort can have it.
    for (let newest = delayed.last; newest !== undefined; newest = delayed.last) {
      if (!newest.place!.isLeft) break;
      remove(newest);
      await newest.place!.undo?.();
      await turn();
    }
  } catch {
    // Units that could not be given back stay charged: the safe side.
  }
  inTurn(() => waiter.reject(reason));
  advance(queue);
}

/** Fails all callers of a queue whose store was closed. */
function end(queue: WaitingQueue): void {
  const { call, waiting, delayed } = queue;
  while (waiting.first !== undefined) {
    const waiter: Waiter = waiting.first;
    fail(waiter, () => closed(waiter, call?.waiter === waiter ? "unknown" : "no"));
  }
  while (delayed.first !== undefined) {
    const waiter: Waiter = delayed.first;
    remove(waiter);
    uncount(waiter);
    inTurn(() => waiter.reject(closed(waiter, "unknown")));
  }
  queue.call = undefined;
  advance(queue);
}
