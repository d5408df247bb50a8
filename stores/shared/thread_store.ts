import type { Algorithm, Halves } from "../../core/algorithm.ts";
import { checkCost, checkNow } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import { ContentionError, StoreUnavailableError } from "../../core/errors.ts";
import { halvesOf } from "../../core/algorithms/halves_of.ts";
import type { Operation, PreparedCall, SyncStore } from "../../core/store.ts";
import { keyFamily, splitStoredKey } from "../../core/stored_key.ts";
import { checkStateFits, type StateLayout, stateLayout } from "./states/state_layout.ts";
import { hashFamily, type HashStart, hashStart, hashText } from "./table/hash.ts";
import { BLOCK, CALLS, header, type Memory, MOST_OPERATIONS, OWNER } from "./layout.ts";
import { numberCall } from "./number_call.ts";
import { OUT_OF_NODES, threadNodes } from "./memory/nodes.ts";
import { operationBatch } from "./operation_batch.ts";
import { type SharedStoreStatistics, statisticsOf } from "./statistics.ts";
import { TORN } from "./states/stored_timeline.ts";
import { openTable } from "./table/table.ts";
import { attachThread } from "./threads/thread.ts";

/** Lost races after which a call gives up. */
const MOST_TRIES = 1_000_000;
/** Families whose hash is remembered. */
const MOST_FAMILIES = 1_000;

/** What a store in shared memory does, beside its handle. */
export interface ThreadStore extends SyncStore {
  readonly internals: SyncStore["internals"];
  statistics(now?: number): SharedStoreStatistics;
}

/** Opens a store for the calling thread. */
export function openThreadStore(memory: Memory): ThreadStore {
  const { ints, floats, blocks } = memory;
  const thread = attachThread(memory, false);
  const self = { thread, record: thread.record, owner: thread.owner, isChanging: false };
  const nodes = threadNodes(memory, self);
  const table = openTable(memory, self, nodes);
  const { found } = table;
  const start = hashStart(ints[header.hashKeyLow]!, ints[header.hashKeyHigh]!);
  const families = new Map<string, HashStart>();
  const forms = new Map<string, StateLayout>();
  const fingerprint = new Int32Array(2);
  let closed = false;

  /** Begins a call. */
  function enter(): void {
    // A call that was cut short has left its word announced.
    const isCutShort = ints[self.thread.announced] !== 0;
    if (self.isChanging) attachAgain();
    for (;;) {
      if (ints[self.record + OWNER] !== self.owner) attachAgain();
      ints[self.thread.announced] = 1;
      if (ints[self.record + OWNER] === self.owner) break;
      ints[self.thread.announced] = 0;
    }
    ints[self.record + CALLS]!++;
    nodes.abandon();
    if (!isCutShort) return;
    self.thread.clearMore();
    table.protectOne();
  }

  /** Ends a call; the record of one that was cut short in the middle of a change is nobody's. */
  function leave(): void {
    if (!self.isChanging) ints[self.thread.announced] = 0;
  }

  /**
   * Attaches once more, as another thread has taken the record over while this one was idle, or as
   * it cannot be told what of a change that was cut short was done.
   */
  function attachAgain(): void {
    requireOpen();
    self.thread = attachThread(memory, true);
    self.record = self.thread.record;
    self.owner = self.thread.owner;
    if (self.isChanging) nodes.forget();
    self.isChanging = false;
  }

  function requireOpen(): void {
    if (closed) {
      throw new StoreUnavailableError("Cannot decide as the shared store must be open", "no");
    }
  }

  function familyStart(family: string): HashStart {
    let known = families.get(family);
    if (known === undefined) {
      if (families.size >= MOST_FAMILIES) families.clear();
      known = hashFamily(start, family);
      families.set(family, known);
    }
    return known;
  }

  function formFor(algorithm: Algorithm): StateLayout {
    let form = forms.get(algorithm.id);
    if (form === undefined) {
      if (forms.size >= MOST_FAMILIES) forms.clear();
      form = stateLayout(memory, nodes, algorithm);
      forms.set(algorithm.id, form);
    }
    return form;
  }

  /** Writes key and state into the spare block. */
  function write(
    form: StateLayout,
    low: number,
    high: number,
    state: unknown,
    freshAt: number,
    old: number,
    block = self.thread.spare(),
  ): void {
    const at = blocks + block * BLOCK;
    ints[at] = low | form.kind;
    ints[at + 1] = high;
    floats[at / 2 + 1] = freshAt;
    if (form.isNumber) floats[at / 2 + 2] = state as number;
    else form.save(state, block, old);
  }

  /** One try of a call on one key; `undefined` if another thread was faster. */
  function attempt(
    { take, decide }: Halves<unknown>,
    form: StateLayout,
    initial: unknown,
    low: number,
    high: number,
    cost: number,
    dry: boolean,
    now: number,
  ): Decision | undefined {
    let block = table.find(low, high);
    if (block === 0) block = table.scan(low, high, now);
    const { slot, word } = found;
    const held = block === 0 ? undefined : form.load(block);
    if (block !== 0 && ints[slot] !== word) return undefined;
    const state = held === undefined ? initial : held;
    const next = take(state, now, cost);
    const decision = decide(state, next, now, cost);
    if (next === state || dry) {
      return block === 0 || ints[slot] === word ? decision : undefined;
    }
    if (block === 0 && next === initial) return decision;
    const freshAt = next === initial ? 0 : now + decision.resetAfter;
    write(form, low, high, next, freshAt, block);
    if (block === 0 ? table.insert(high, now) : table.replace()) return decision;
    nodes.abandon();
    return undefined;
  }

  function decideOn(
    halves: Halves<unknown>,
    form: StateLayout,
    initial: unknown,
    low: number,
    high: number,
    cost: number,
    dry: boolean,
    now: number,
  ): Decision {
    enter();
    try {
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        found.slot = 0;
        try {
          const decision = attempt(halves, form, initial, low, high, cost, dry, now);
          if (decision !== undefined) return decision;
        } catch (error) {
          recover(error, now, () => found.slot === 0 || ints[found.slot] === found.word);
        }
      }
    } finally {
      leave();
    }
    throw contended();
  }

  /**
   * Goes on after a throw that another thread's swap, or a lack of nodes, may have caused.
   *
   * @param isStill Whether all is yet as the call found it.
   */
  function recover(error: unknown, now: number, isStill: () => boolean): void {
    if (self.isChanging) throw error;
    nodes.abandon();
    if (error === OUT_OF_NODES) table.makeNodes(now);
    else if (error !== TORN && isStill()) throw error;
  }

  function run(operations: readonly Operation[], at?: number): readonly Decision[] {
    requireOpen();
    const now = checkNow(at ?? Date.now());
    for (const { cost } of operations) checkCost("run an operation", cost);
    const [first] = operations;
    if (operations.length === 1 && first !== undefined && first.replaces === undefined) {
      const { key: stored, algorithm, cost, dry } = first;
      const { family, key } = splitStoredKey(stored);
      hashText(familyStart(family), key, fingerprint);
      const low = fingerprint[0]! & ~3;
      const high = fingerprint[1]!;
      const halves = halvesOf(algorithm) as Halves<unknown>;
      return [
        decideOn(halves, formFor(algorithm), algorithm.initial, low, high, cost, dry, now),
      ];
    }
    const batch = operationBatch(
      { memory, self, nodes, table, locate, formFor, write },
      operations,
      now,
    );
    enter();
    try {
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        try {
          const decisions = batch.attempt();
          if (decisions !== undefined) return decisions;
          rest(tries);
        } catch (error) {
          recover(error, now, batch.isUnchanged);
        }
      }
    } finally {
      batch.end();
      leave();
    }
    throw contended();
  }

  /** The fingerprint of a stored key. */
  function locate(stored: string): { readonly low: number; readonly high: number } {
    const { family, key } = splitStoredKey(stored);
    hashText(familyStart(family), key, fingerprint);
    return { low: fingerprint[0]! & ~3, high: fingerprint[1]! };
  }

  function prepare(prefix: string, algorithm: Algorithm): PreparedCall<Decision> {
    const keys = familyStart(keyFamily(prefix, algorithm.id));
    const form = formFor(algorithm);
    const { initial } = algorithm;
    const halves = halvesOf(algorithm) as Halves<unknown>;
    if (form.isNumber) {
      return numberCall(
        memory,
        self,
        algorithm,
        keys,
        (low, high, cost, dry, now) => decideOn(halves, form, initial, low, high, cost, dry, now),
      );
    }
    const last = new Int32Array(2);
    let lastKey = "";
    return function decideOne(key, cost, dry, at) {
      const now = at === undefined ? Date.now() : at;
      if (key !== lastKey) {
        hashText(keys, key, last);
        lastKey = key;
      }
      return decideOn(halves, form, initial, last[0]! & ~3, last[1]!, cost, dry, now);
    };
  }

  function forget(stored: string): void {
    requireOpen();
    const { low, high } = locate(stored);
    enter();
    try {
      while (table.scan(low, high, 0) !== 0 && !table.forget());
    } finally {
      leave();
    }
  }

  function close(): void {
    if (closed) return;
    closed = true;
    if (!self.isChanging) self.thread.release();
    // No owner's word is this one: the next call looks why, and finds the store closed.
    self.owner = NaN;
  }

  return {
    run,
    internals: { prepare, mostOperations: MOST_OPERATIONS },
    accepts: checkStateFits,
    delete: forget,
    close,
    [Symbol.asyncDispose]: () => Promise.resolve(close()),
    statistics: (now = Date.now()) => statisticsOf(memory, now),
  };
}

/** Lets others go first: longer, and less alike, the more races were lost. */
function rest(lost: number): void {
  const turns = Math.random() * Math.min(2 ** lost, 10_000);
  for (let turn = 0; turn < turns; turn++);
}

function contended(): ContentionError {
  return new ContentionError(`Cannot decide as a race was lost ${MOST_TRIES} times`);
}
