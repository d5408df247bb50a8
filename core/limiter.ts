import type { Algorithm } from "./algorithm.ts";
import { checkCost, checkNow, checkOptions, checkText, complaint } from "./check.ts";
import { afterRealTime, checkClock, type Clock } from "./clock.ts";
import type { Decision } from "./decision.ts";
import type {
  AsyncStore,
  Lane,
  Operation,
  Replaced,
  ReplaceMode,
  Store,
  SyncStore,
} from "./store.ts";
import { storedKey } from "./stored_key.ts";
import { type LineOwner, type Lines, refusal, waitInLine, wakeLine } from "./waiting_line.ts";

/** The options of a limiter, whatever its store. */
export interface LimiterOptions {
  /**
   * What the limiter's keys begin with in the store. Required with a store, as two limiters that
   * share counters by accident are the commonest fault there is.
   */
  readonly prefix?: string | undefined;
  /** Where `now` comes from; without it the store's own time. */
  readonly clock?: Clock | undefined;
  /** Called with every verdict that a caller is given, `peek` apart; for metrics. */
  readonly onDecision?:
    | ((decision: Decision, key: string, cost: number) => void)
    | undefined;
  /** The options that this limiter's took the place of, so that a changed limit forgets nothing. */
  readonly replaces?: { readonly algorithm: Algorithm; readonly mode: ReplaceMode } | undefined;
  /** The most callers that may wait in `acquire`; a positive integer; default 10,000. */
  readonly maxWaiting?: number | undefined;
}

/** The options of a limiter on a store that answers at once. */
export interface SyncLimiterOptions extends LimiterOptions {
  /** The store; without one the limiter has a memory store of its own. */
  readonly store?: SyncStore | undefined;
}

/** The options of a limiter on a store that answers by promises. */
export interface AsyncLimiterOptions extends LimiterOptions {
  /** The store. */
  readonly store: AsyncStore;
  /** What the limiter's keys begin with in the store. */
  readonly prefix: string;
}

/** The options of `acquire`. */
export interface AcquireOptions {
  /** Units to take, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
  /** The longest wait in milliseconds, at least 0; default `Infinity`. */
  readonly maxWait?: number | undefined;
  /** Ends the wait: one that still queues has taken nothing. */
  readonly signal?: AbortSignal | undefined;
}

/** What limiters on stores of both kinds have in common. */
export interface LimiterBase<Answer, Done, OfStore extends Store> {
  /** The algorithm, as given. */
  readonly algorithm: Algorithm;
  /** The store, as given, or the limiter's own. */
  readonly store: OfStore;
  /** What the limiter's keys begin with in the store. */
  readonly prefix: string;
  /**
   * Decides and takes.
   *
   * @param key Whose units: a non-empty string.
   * @param cost Units to take, an integer of at least 0; default 1. 0 looks.
   * @throws {TypeError} If the key is no non-empty string.
   * @throws {RangeError} If the cost is no integer of at least 0.
   */
  consume(key: string, cost?: number): Answer;
  /** What `consume` would answer; changes nothing. The balance is `peek(key, 0)`. */
  peek(key: string, cost?: number): Answer;
  /** Gives units back, the newest first: an integer of at least 1; default 1. */
  refund(key: string, cost?: number): Answer;
  /** Forgets the key. */
  reset(key: string): Done;
  /**
   * Waits its turn, then takes, then waits out the decision's `delay`.
   *
   * First come, first served for each key in the process: only the first in line tries, nothing is
   * taken for those who wait, and a large cost is not overtaken by small ones. An abort while
   * queueing charges nothing; in the delay of a `leakyQueue` only the newest place is given back.
   *
   * @throws {RateLimitedError} At once if the line is longer than `maxWait`, the cost above the
   * capacity or `maxWaiting` reached; later, if others were faster than foreseen.
   * @throws What the signal was aborted with.
   */
  acquire(key: string, options?: AcquireOptions): Promise<Decision>;
}

/** A limiter on a store that answers at once. */
export type Limiter = LimiterBase<Decision, void, SyncStore>;

/** A limiter on a store that answers by promises. */
export type AsyncLimiter = LimiterBase<Promise<Decision>, Promise<void>, AsyncStore>;

/** What `consumeAll` needs of a limiter beside its public face. */
export interface LimiterInternals {
  /** The operation of a call. */
  operation(key: string, cost: number): Operation;
  /** The instant to decide at; `undefined` for the store's own time. */
  now(): number | undefined;
  readonly clock: Clock | undefined;
  report(decision: Decision, key: string, cost: number): void;
}

const internals = new WeakMap<object, LimiterInternals>();
const linesOfStores = new WeakMap<Store, Lines>();

/** The internals of a limiter; `undefined` of anything else. */
export function internalsOf(limiter: object): LimiterInternals | undefined {
  return internals.get(limiter);
}

/**
 * Makes a limiter of an algorithm and a store; `mod.ts` adds the default store.
 *
 * @throws {TypeError} If an option is of the wrong type, or the prefix is missing.
 * @throws {RangeError} If the store cannot hold the algorithm's states.
 */
export function limiterOn(
  algorithm: Algorithm,
  store: Store,
  prefix: string,
  options: LimiterOptions,
): Limiter | AsyncLimiter {
  const { clock, onDecision, replaces, maxWaiting = 10_000 } = options;
  store.accepts(algorithm);
  const nameKey = (id: string, key: string) =>
    store.keyOf?.(prefix, id, key) ?? storedKey(prefix, id, key);
  const now = clock === undefined ? noInstant : () => checkNow(clock());
  const decide = replaces === undefined && store.lane !== undefined
    ? store.lane(prefix, algorithm) as Lane<Decision>
    : lane;
  const lines = linesOfStores.get(store) ?? new Map<string, never>();
  linesOfStores.set(store, lines);
  let waiting = 0;

  function operation(key: string, cost: number): Operation {
    const stored = nameKey(algorithm.id, key);
    return { key: stored, algorithm, cost, dry: false, replaces: replacedBy(key) };
  }

  function replacedBy(key: string): Replaced | undefined {
    return replaces && {
      key: nameKey(replaces.algorithm.id, key),
      algorithm: replaces.algorithm,
      mode: replaces.mode,
    };
  }

  function runOne(operation: Operation, at: number | undefined): Decision {
    const answer = store.run([operation], at);
    // Of a store that answers by promises this is a promise, and so is what is returned.
    return (answer instanceof Promise ? answer.then(first) : first(answer)) as Decision;
  }

  function lane(key: string, cost: number, dry: boolean, at: number | undefined): Decision {
    return runOne({ ...operation(key, cost), dry }, at);
  }

  function report(decision: Decision, key: string, cost: number): void {
    if (onDecision !== undefined) onDecision(decision, key, cost);
  }

  function reported(answer: Decision, key: string, cost: number): Decision {
    if (onDecision === undefined) return answer;
    return after(answer, (decision) => {
      onDecision(decision, key, cost);
      return decision;
    });
  }

  function woken<Value>(answer: Value, key: string): Value {
    if (lines.size === 0) return answer;
    return after(answer, (value) => {
      wakeLine(lines, nameKey(algorithm.id, key));
      return value;
    });
  }

  const owner: LineOwner = {
    algorithm,
    now: clock === undefined ? () => Date.now() : () => checkNow(clock()),
    after: clock?.after === undefined
      ? afterRealTime
      : (milliseconds, wake) => clock.after!(milliseconds, wake),
    run: (key, stepped, cost, dry) =>
      runOne({ ...operation(key, cost), algorithm: stepped, dry }, now()),
    report,
  };

  const made: Limiter = Object.freeze({
    algorithm,
    store: store as SyncStore,
    prefix,
    consume(key: string, cost = 1): Decision {
      // The checks' common outcomes here, the rest in functions of their own: this is the hot path.
      if (typeof key !== "string" || key === "") requireKey(key);
      if (cost >>> 0 !== cost) requireCost("consume", cost);
      const decision = decide(key, cost, false, clock === undefined ? undefined : now());
      return onDecision === undefined ? decision : reported(decision, key, cost);
    },
    peek(key: string, cost = 1): Decision {
      requireKey(key);
      requireCost("peek", cost);
      return decide(key, cost, true, now());
    },
    refund(key: string, cost = 1): Decision {
      requireKey(key);
      checkCost("refund", cost, 1);
      return woken(reported(decide(key, -cost, false, now()), key, -cost), key);
    },
    reset(key: string): void {
      requireKey(key);
      const forgotten = store.delete(nameKey(algorithm.id, key));
      const old = replacedBy(key);
      const both = old === undefined ? forgotten : join(forgotten, store.delete(old.key));
      return woken(both as void, key);
    },
    async acquire(key: string, wish: AcquireOptions = {}): Promise<Decision> {
      const { cost = 1, maxWait = Infinity, signal } = wish;
      requireKey(key);
      requireCost("acquire", cost);
      requireMaxWait(maxWait);
      signal?.throwIfAborted();
      if (cost > algorithm.capacity || waiting >= maxWaiting) {
        const rule = cost > algorithm.capacity
          ? `cost must be at most the capacity of ${algorithm.capacity}`
          : `at most ${maxWaiting} may wait`;
        throw refusal(owner, key, cost, await decide(key, cost, true, now()), rule);
      }
      waiting++;
      try {
        const place = nameKey(algorithm.id, key);
        return await waitInLine(lines, place, owner, key, { cost, maxWait, signal });
      } finally {
        waiting--;
      }
    },
  });
  internals.set(made, { operation, now, clock, report });
  return made;
}

/** Checks the options that do not depend on the store, and the algorithm. */
export function checkLimiter(algorithm: Algorithm, options: LimiterOptions): void {
  const action = "create limiter";
  if (typeof algorithm?.step !== "function") {
    throw new TypeError(complaint(action, "it needs an algorithm, such as gcra(...)", algorithm));
  }
  checkOptions(action, options);
  checkClock(action, options.clock);
  const { onDecision, replaces, maxWaiting } = options;
  if (onDecision !== undefined && typeof onDecision !== "function") {
    throw new TypeError(complaint(action, "onDecision must be a function", onDecision));
  }
  if (maxWaiting !== undefined && !(Number.isSafeInteger(maxWaiting) && maxWaiting >= 1)) {
    throw new RangeError(complaint(action, "maxWaiting must be a positive integer", maxWaiting));
  }
  if (replaces === undefined) return;
  if (typeof replaces?.algorithm?.step !== "function") {
    throw new TypeError(complaint(action, "replaces.algorithm must be an algorithm", replaces));
  }
  if (replaces.mode !== "keep" && replaces.mode !== "proportional") {
    const rule = 'replaces.mode must be "keep" or "proportional"';
    throw new TypeError(complaint(action, rule, replaces.mode));
  }
  if (replaces.algorithm.id === algorithm.id) {
    const rule = "replaces.algorithm must have other options than the limiter's";
    throw new TypeError(complaint(action, rule, algorithm.id));
  }
}

/** Requires the prefix that goes with a store. */
export function checkPrefix(prefix: unknown): asserts prefix is string {
  checkText("create limiter on a store", "prefix", prefix);
}

function noInstant(): undefined {
  return undefined;
}

function requireKey(key: string): void {
  checkText("decide", "key", key);
}

function requireCost(action: string, cost: number): void {
  if (!(cost >= 0 && Number.isSafeInteger(cost))) checkCost(action, cost, 0);
}

function requireMaxWait(maxWait: number): void {
  if (typeof maxWait === "number" && maxWait >= 0) return;
  throw new RangeError(
    complaint("acquire", "maxWait must be milliseconds of at least 0, or Infinity", maxWait),
  );
}

function first(decisions: readonly Decision[]): Decision {
  return decisions[0]!;
}

/** What comes after an answer: at once, or when its promise is kept. */
function after<Value>(answer: Value, then: (value: Value) => Value): Value {
  return answer instanceof Promise ? answer.then(then) as Value : then(answer);
}

function join(one: void | Promise<void>, other: void | Promise<void>): void | Promise<void> {
  return one instanceof Promise ? Promise.all([one, other]).then(() => {}) : other;
}
