/*
 * Threads that run the store's own code one access to memory after the other, in any order, each with
 * its own view of memory, as ECMAScript's memory model lets them (loom does so for Rust, Relacy for
 * C++). Each location has the history of its writes; a write carries its thread's vector clock.
 *
 *   plain load     any write that no later one hides which the thread knows of (happens-before)
 *   atomic load    the latest atomic write, or a plain one after it; it synchronises with the former
 *   64-bit float   two locations, because it may tear
 *
 * On a processor that keeps the order of accesses (`isOrdered`) a load sees the latest write, but
 * plain writes wait in a buffer of their thread until its next atomic write, or a turn of chance.
 *
 * A thread that pauses sleeps until the others have made so many accesses that any of them, wherever
 * it stood, has gone on, or until they have ended.
 *
 * A thread is suspended by a throw, and resumed by a run of its script from the beginning in which
 * the accesses made so far are answered as they were. So scripts must not depend on anything else.
 */

import {
  attachMemory,
  BUCKET,
  field,
  header,
  INTENT,
  type Memory,
  RECORD,
  SLOTS_PER_BUCKET,
} from "../../../../stores/shared/layout.ts";
import type { SharedStore, SharedStoreHandle } from "../../../../stores/shared/shared_store.ts";
import { openThreadStore } from "../../../../stores/shared/thread_store.ts";
import { type Access, observedMemory, whereObserved } from "./observed_memory.ts";

/** The kind of a location. */
export type Region =
  | "slot"
  | "intent"
  | "tag"
  | "announced"
  | "owner"
  | "batch"
  | "status"
  | "record"
  | "block"
  | "node"
  | "keys"
  | "signal"
  | "pool"
  | "header";

/** A fault of memory order that is seeded. */
export interface Weakening {
  readonly name: string;
  /** The scenario in which it is looked for, and whether on a processor that keeps the order. */
  readonly scenario: string;
  readonly isOrdered?: boolean;
  /** A schedule that showed it, to be tried first. */
  readonly seed?: number;
  /** Whether an atomic operation is a plain one, or a plain load and then a plain store. */
  isPlain?(what: string, region: Region): boolean;
  /** Whether a store waits until an access of the thread for which `endsDelay` holds. */
  isDelayed?(region: Region): boolean;
  endsDelay?(what: string, region: Region): boolean;
}

/** How threads take turns, and which of the values that they may see they see. */
export interface Schedule {
  /** Which of the threads that are not done goes on, and for how many accesses. */
  next(running: readonly number[]): readonly [thread: number, accesses: number];
  /** The index of the write that is seen, of that many writes: 0 is the newest. */
  choose(writes: number): number;
}

/** A thread's work on the store that it attaches to. */
export type Script = (attach: () => SharedStore) => unknown;

interface Write {
  readonly value: number | bigint;
  readonly thread: number;
  /** How many writes the thread had made with it. */
  readonly epoch: number;
  /** The thread's vector clock at the write; only atomic writes have it. */
  readonly clock: readonly number[] | undefined;
}

/** A plain store that waits. */
interface LateStore {
  readonly bytes: number;
  readonly index: number;
  readonly value: number | bigint;
}

interface Runner {
  readonly id: number;
  readonly clock: number[];
  readonly log: unknown[];
  readonly waiting: LateStore[];
  cursor: number;
  budget: number;
  /** How many accesses all threads have made when it goes on after a pause. */
  sleepsUntil: number;
  isSuspended: boolean;
  isDone: boolean;
}

const SUSPENDED = new Error("suspended");
const MAX_ACCESSES = 6_000;
/** Accesses of the others in a pause. */
const PAUSE = 500;
/**
 * Longer pauses, in milliseconds, are over at once. A thread without a record looks after such a pause
 * which of the others made no call: this way they are in the middle of one as it looks.
 */
const MAX_PAUSE = 10;

/**
 * Runs scripts at once.
 *
 * @param narrow Changes of the memory's sizes, so that words and blocks soon come back.
 * @returns Whether all came to an end: threads may wait for blocks that others hold, where there are
 * few.
 */
export function runWeak(
  { buffer }: SharedStoreHandle,
  scripts: readonly Script[],
  schedule: Schedule,
  { isOrdered, narrow, weakening }: {
    readonly isOrdered: boolean;
    readonly narrow: Partial<Memory>;
    readonly weakening?: Weakening | undefined;
  },
): boolean {
  const memory = { ...attachMemory(buffer), ...narrow, keepsOrder: isOrdered };
  const initial = Int32Array.from(memory.ints);
  const initialBytes = Uint8Array.from(memory.bytes);
  const initialBigs = BigInt64Array.from(memory.bigs);
  const histories = new Map<string, Write[]>();
  const runners = scripts.map((_, id): Runner => ({
    id,
    clock: scripts.map(() => 0),
    log: [],
    waiting: [],
    cursor: 0,
    budget: 0,
    sleepsUntil: 0,
    isSuspended: false,
    isDone: false,
  }));
  let accesses = 0;

  function historyOf(bytes: number, index: number): Write[] {
    const place = `${bytes} ${index}`;
    const known = histories.get(place);
    if (known !== undefined) return known;
    const value = (bytes === 4 ? initial : bytes === 1 ? initialBytes : initialBigs)[index]!;
    const made = [{ value, thread: -1, epoch: 0, clock: undefined }];
    histories.set(place, made);
    return made;
  }

  function read({ clock }: Runner, bytes: number, index: number, isAtomic: boolean) {
    const history = historyOf(bytes, index);
    let oldest = history.length - 1;
    const ends = ({ thread, epoch, clock: known }: Write) =>
      isOrdered || thread === -1 || clock[thread]! >= epoch || (isAtomic && known !== undefined);
    while (oldest > 0 && !ends(history[oldest]!)) oldest--;
    const writes = history.length - oldest;
    const seen = history[history.length - 1 - (writes === 1 ? 0 : schedule.choose(writes))]!;
    if (isAtomic) {
      seen.clock?.forEach((epoch, thread) => clock[thread] = Math.max(clock[thread]!, epoch));
    }
    return seen.value;
  }

  function write(
    { id, clock }: Runner,
    bytes: number,
    index: number,
    value: number | bigint,
    isAtomic: boolean,
  ): void {
    const array = bytes === 4 ? memory.ints : bytes === 1 ? memory.bytes : memory.bigs;
    (array as { [index: number]: number | bigint })[index] = value;
    const epoch = ++clock[id]!;
    const own = { thread: id, epoch, clock: isAtomic ? [...clock] : undefined };
    historyOf(bytes, index).push({ ...own, value: array[index]! });
  }

  /** Performs what waits: all, or a store at a time as chance will have it. */
  function flush(runner: Runner, most = runner.waiting.length): void {
    for (const { bytes, index, value } of runner.waiting.splice(0, most)) {
      write(runner, bytes, index, value, false);
    }
  }

  function load(runner: Runner, bytes: number, index: number): number | bigint {
    const own = runner.waiting.findLast((each) => isOf(each, bytes, index));
    return own === undefined ? read(runner, bytes, index, false) : own.value;
  }

  function store(runner: Runner, bytes: number, index: number, value: number | bigint): void {
    const isDelayed = weakening?.isDelayed?.(regionOf(memory, bytes, index)) ?? false;
    if (!isOrdered && !isDelayed) return write(runner, bytes, index, value, false);
    runner.waiting.push({ bytes, index, value });
  }

  /** One access, or two of an operation that is not atomic any more. */
  function step<Value>(runner: Runner, perform: () => Value): Value {
    if (runner.isSuspended) throw SUSPENDED;
    if (runner.cursor < runner.log.length) return runner.log[runner.cursor++] as Value;
    if (runner.budget === 0) {
      runner.isSuspended = true;
      throw SUSPENDED;
    }
    runner.budget--;
    accesses++;
    if (isOrdered && runner.waiting.length > 0) flush(runner, schedule.choose(3));
    const value = perform();
    runner.log.push(value);
    runner.cursor++;
    return value;
  }

  function accessOf(runner: Runner, bytes: number): Access {
    return function access(what, index, ...rest) {
      const region = regionOf(memory, bytes, index);
      const [first, second] = rest as [number | bigint, number | bigint];
      const isPlain = weakening?.isPlain?.(what, region) ?? false;
      const answer = perform();
      if (weakening?.endsDelay?.(what, region)) step(runner, () => flush(runner));
      return answer;

      function perform(): unknown {
        if (what === "get") return step(runner, () => load(runner, bytes, index));
        if (what === "set" || (what === "store" && isPlain)) {
          return step(runner, () => store(runner, bytes, index, first));
        }
        if (what === "load") {
          return step(runner, () => {
            const isOwn = runner.waiting.some((each) => isOf(each, bytes, index));
            return isPlain || isOwn ? load(runner, bytes, index) : read(runner, bytes, index, true);
          });
        }
        if (isPlain) {
          const before = step(runner, () => load(runner, bytes, index));
          const after = changed(before);
          if (after !== undefined) step(runner, () => store(runner, bytes, index, after));
          return before;
        }
        return step(runner, () => {
          const isDelayed = weakening?.isDelayed?.(region) ?? false;
          if (isDelayed && what === "store") return store(runner, bytes, index, first);
          if (weakening?.endsDelay === undefined) flush(runner);
          if (what === "store") return write(runner, bytes, index, first, true);
          const before = read(runner, bytes, index, true);
          const after = changed(before);
          if (after === undefined) return before;
          if (isDelayed) store(runner, bytes, index, after);
          else write(runner, bytes, index, after, true);
          return before;
        });
      }

      function changed(before: number | bigint): number | bigint | undefined {
        if (what === "compareExchange") return before === first ? second : undefined;
        return Number(before) + (what === "add" ? 1 : -1) * Number(first);
      }
    };
  }

  function pause(runner: Runner, milliseconds: number): void {
    if (milliseconds > MAX_PAUSE) return;
    step(runner, () => {
      runner.sleepsUntil = accesses + PAUSE;
      runner.budget = 0;
    });
  }

  /** The threads that are awake, or all threads if they all sleep. */
  function awake(): readonly number[] {
    const running = runners.filter(({ isDone }) => !isDone);
    const found = running.filter(({ sleepsUntil }) => sleepsUntil <= accesses);
    return (found.length === 0 ? running : found).map(({ id }) => id);
  }

  let current = runners[0]!;
  const views = runners.map((runner) => viewOf(memory, (bytes) => accessOf(runner, bytes)));
  inWeakMemory(() => {
    for (;;) {
      const running = awake();
      if (running.length === 0 || accesses > MAX_ACCESSES) break;
      const [id, budget] = schedule.next(running);
      const runner = current = runners[id]!;
      const left = MAX_ACCESSES + 1 - accesses;
      Object.assign(runner, { cursor: 0, budget: Math.min(budget, left), isSuspended: false });
      try {
        scripts[id]!(() => openThreadStore(views[id]!));
        runner.isDone = true;
      } catch (error) {
        if (error !== SUSPENDED) throw error;
      }
    }
  }, (milliseconds) => pause(current, milliseconds));
  for (const runner of runners) flush(runner);
  return runners.every(({ isDone }) => isDone);
}

const isOf = (late: LateStore, bytes: number, index: number) =>
  late.bytes === bytes && late.index === index;

/** A memory whose arrays answer by accesses. A float is two accesses. */
function viewOf(memory: Memory, accessOf: (bytes: number) => Access): Memory {
  const scratch = new Float64Array(1);
  const halves = new Int32Array(scratch.buffer);
  const ints = accessOf(4);
  const floats: Access = (what, index, value) => {
    if (what === "set") {
      scratch[0] = value as number;
      const [low, high] = [halves[0]!, halves[1]!];
      [low, high].forEach((half, place) => ints("set", 2 * index + place, half));
    } else halves.set([0, 1].map((place) => ints("get", 2 * index + place) as number));
    return scratch[0];
  };
  return observedMemory(
    memory,
    (array) => array === memory.floats ? floats : accessOf(array.BYTES_PER_ELEMENT),
  );
}

/** Runs code with every access reported, while clock and chance stand still. */
function inWeakMemory(run: () => void, pause: (milliseconds: number) => void): void {
  const { now } = Date;
  const { random } = Math;
  Date.now = () => 1_790_000_000_000;
  Math.random = () => 0;
  try {
    whereObserved(run, pause);
  } finally {
    Date.now = now;
    Math.random = random;
  }
}

/** The kind of a location. */
function regionOf(memory: Memory, bytes: number, index: number): Region {
  const { buckets, records, blocks, nodes } = memory;
  if (bytes === 8) return "pool";
  if (bytes === 1) return "tag";
  if (index >= memory.signals && index < buckets) return "signal";
  if (index < buckets) return index === header.keys ? "keys" : "header";
  if (index < records) {
    const place = (index - buckets) % BUCKET;
    return place < SLOTS_PER_BUCKET ? "slot" : place === INTENT ? "intent" : "tag";
  }
  if (index < blocks) {
    const place = (index - records) % RECORD;
    if (place === field.announced) return "announced";
    if (place === field.batchSize || (place >= field.batch && place < field.seen)) return "batch";
    return place === field.owner ? "owner" : place === field.status ? "status" : "record";
  }
  return index < nodes ? "block" : "node";
}
