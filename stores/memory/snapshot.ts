/*
 * Snapshots of a memory store as lines of text, and back. A line is a JSON array: the stored key, the
 * state as its codec's text, and the instant when the key is fresh, as the store keeps it.
 *
 * A snapshot may come before a limiter has opened the families of its lines. Their states then wait as
 * text in ordinary slots until a limiter opens the family (`Table.read`).
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { splitReducer } from "../../core/algorithms/split_reducer.ts";
import { checkNow, checkOptions, typeError } from "../../core/options/checks.ts";
import { escapedKey, plainKey } from "../../core/stored_key.ts";
import { processTime } from "../process_time.ts";
import { keyBytes } from "./key_bytes.ts";
import { keepState, lacksRoom, makeRoom } from "./make_room.ts";
import type { MemoryStore } from "./memory_store.ts";
import {
  bytesOf,
  dropSlot,
  emptyTable,
  freshAtOf,
  openSlotsOf,
  putState,
  type Slots,
  stateIn,
  type Table,
} from "./slots.ts";

/**
 * The bytes of a state that waits as text. The state made of the text may take more. If the store then
 * holds too much, its next write makes room.
 */
const waitingBytes = (text: unknown): number => 24 + (text as string).length;

/** Counts of a snapshot's lines, by their outcome. */
export interface RestoredLines {
  /** Keys that the store now holds from the snapshot. */
  readonly restored: number;
  /** Keys that were fresh again, or held already with a state that lasts longer. */
  readonly outdated: number;
  /** Keys for which the store had no room. */
  readonly full: number;
  /** Lines of another shape, and states that no algorithm here can read. */
  readonly unreadable: number;
}

/** The options of `restore`. */
export interface RestoreOptions {
  /** The instant, in milliseconds since the Unix epoch. */
  readonly now?: number | undefined;
}

/**
 * A snapshot of a memory store: a line of text for each key, without a line break. A line is a JSON
 * array of the stored key, the state as its codec's text and the instant from which the key is fresh.
 * The iterator makes each line when it is asked for one, in constant memory. Calls may come in between,
 * and the snapshot may or may not show them.
 *
 * Keys are often names or addresses of people: keep such lines as safe as those.
 *
 * @throws {TypeError} If the store is not a memory store.
 * @throws {StoreUnavailableError} If the store is closed.
 *
 * @example
 * ```ts
 * import { dump, gcra, limiter, memoryStore, restore } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const hourly = gcra({ limit: 10, period: "1h", burst: 10 });
 * const before = memoryStore();
 * limiter(hourly, { store: before, prefix: "api" }).consume("user:42", 10);
 * const after = memoryStore();
 * restore(after, dump(before));
 * assert.equal(limiter(hourly, { store: after, prefix: "api" }).consume("user:42").allowed, false);
 * ```
 */
export function* dump(store: MemoryStore): Generator<string, void> {
  const slots = slotsOf("dump a store", store);
  for (const { family, slots: held } of slots.tables.values()) {
    const at = family.indexOf("{}") + 1;
    const [start, end] = [family.slice(0, at), family.slice(at)];
    for (const [key, slot] of held) {
      // A limiter that opens the family in between makes another table of the same keys.
      const text = slots.owners[slot]!.codec.encode(stateIn(slots, slot));
      const freshAt = Math.min(freshAtOf(slots, slot), LAST_FRESH);
      yield JSON.stringify([start + escapedKey(key) + end, text, freshAt]);
    }
  }
}

/**
 * Puts the keys of a snapshot into a memory store, before limiters are made on it or after. Lines of
 * another shape are skipped and counted. A key that is held already is replaced only if the snapshot
 * leaves strictly less of it, so that an older snapshot takes no use back; where no limiter has been
 * made for it, the state that is fresh later stays. A full store takes no more keys: it evicts nothing
 * for a snapshot.
 *
 * @param store The store.
 * @param lines The lines of a `dump`, in any order; from a stream as well.
 * @param options `now`: the instant by which keys are fresh again; the time of the store without it.
 * @throws {TypeError} If the store is not a memory store, or an option is of the wrong type.
 * @throws {RangeError} If `now` is out of range.
 * @throws {StoreUnavailableError} If the store is closed.
 */
export function restore(
  store: MemoryStore,
  lines: Iterable<string>,
  options?: RestoreOptions,
): RestoredLines;
/** The same for lines that arrive over time, such as the lines of a file. */
export function restore(
  store: MemoryStore,
  lines: AsyncIterable<string>,
  options?: RestoreOptions,
): Promise<RestoredLines>;
export function restore(
  store: MemoryStore,
  lines: Iterable<string> | AsyncIterable<string>,
  options: RestoreOptions = {},
): RestoredLines | Promise<RestoredLines> {
  const action = "restore a snapshot";
  checkOptions<RestoreOptions>(action, options, { now: true });
  const now = options.now === undefined ? processTime() : checkNow(options.now);
  const found = { restored: 0, outdated: 0, full: 0, unreadable: 0 };
  const add = (line: string) => found[outcomeOf(slotsOf(action, store), line, now)]++;
  if (Symbol.iterator in lines) {
    for (const line of lines) add(line);
    return found;
  }
  return (async () => {
    for await (const line of lines) add(line);
    return found;
  })();
}

function slotsOf(action: string, store: MemoryStore): Slots {
  const slots = openSlotsOf(store)?.();
  if (slots === undefined) throw typeError(action, "its store must be a memoryStore", store);
  return slots;
}

/** A table of states that are text, until a limiter opens the family. */
function textTable(slots: Slots, family: string): Table {
  const table: Table = {
    family,
    slots: new Map(),
    codec: { encode: (text) => text as string, decode: (text) => text },
    stateBytes: waitingBytes,
    read: (algorithm) => readTexts(slots, table, algorithm),
  };
  return table;
}

/** Turns the text that a snapshot had for the keys of a family into states. */
function readTexts(slots: Slots, texts: Table, algorithm: Algorithm): Table {
  const table = { ...emptyTable(texts.family, algorithm), slots: texts.slots };
  slots.tables.set(table.family, table);
  for (const slot of table.slots.values()) {
    const text = stateIn(slots, slot);
    const state = table.codec.decode(text as string);
    if (state === undefined) {
      slots.unreadable++;
      dropSlot(slots, slot);
      continue;
    }
    const grown = bytesOf(table, state) - bytesOf(texts, text);
    slots.owners[slot] = table;
    putState(slots, slot, state, freshAtOf(slots, slot), slots.sizes[slot]! + grown);
  }
  // States may take more bytes than their text. Without an instant, no key counts as fresh here.
  if (slots.onFull === "evict") makeRoom(slots, () => ({ keys: 0, bytes: 0 }), 0);
  return table;
}

/** Puts the key of a line into the store, and says what became of it. */
function outcomeOf(slots: Slots, line: string, now: number): keyof RestoredLines {
  const parts = readLine(line);
  if (parts === undefined) return "unreadable";
  const { family, key, text, freshAt } = parts;
  if (freshAt <= now) return "outdated";
  const table = slots.tables.get(family) ?? textTable(slots, family);
  const read = table.codec.decode(text);
  if (read === undefined) return "unreadable";
  const slot = table.slots.get(key);
  const { algorithm } = table;
  let state: unknown = read;
  if (slot !== undefined) {
    const held = stateIn(slots, slot);
    if (algorithm !== undefined) state = withLess(algorithm, held, read, now);
    else if (freshAtOf(slots, slot) >= freshAt) state = held;
    if (state === held) return "outdated";
  }
  const bytes = keyBytes(key) + bytesOf(table, state);
  const held = slot === undefined ? 0 : slots.sizes[slot]!;
  if (bytes > slots.maxBytes / 2 || lacksRoom(slots, slot === undefined ? 1 : 0, bytes - held)) {
    return "full";
  }
  const heldUntil = slot === undefined ? 0 : freshAtOf(slots, slot);
  keepState(slots, table, key, slot, state, Math.max(freshAt, heldUntil), now);
  return "restored";
}

/**
 * The state of a key with less left than either of two states: the held one, unless the other leaves
 * less; of a combination, part by part.
 */
function withLess(algorithm: Algorithm, held: unknown, other: unknown, now: number): unknown {
  const { parts } = algorithm.internals ?? {};
  if (parts === undefined) {
    const before = leftIn(algorithm, held, now);
    const after = leftIn(algorithm, other, now);
    const isLess = after.every((left, index) => left <= before[index]!) &&
      after.some((left, index) => left < before[index]!);
    return isLess ? other : held;
  }
  const [states, others] = [held, other] as [readonly unknown[], readonly unknown[]];
  const chosen = parts.map((part, index) => withLess(part, states[index], others[index], now));
  return chosen.every((state, index) => state === states[index]) ? held : chosen;
}

/** The units that a state leaves: of the key, and of each algorithm inside. Debt is below 0. */
function leftIn(algorithm: Algorithm, state: unknown, now: number): readonly number[] {
  const { parts, wraps } = algorithm.internals ?? {};
  if (parts !== undefined) {
    return parts.flatMap((part, index) => leftIn(part, (state as readonly unknown[])[index], now));
  }
  const { remaining, debt } = splitReducer(algorithm).decide(state, state, now, 0);
  const inside = wraps === undefined ? [] : leftIn(wraps.inner, wraps.innerOf(state), now);
  return [remaining - debt, ...inside];
}

/** The latest instant at which a key can be fresh, with room for debts. */
const LAST_FRESH = Number.MAX_SAFE_INTEGER;

const NAME_REGEXP = /^([^{}]*:\{)([^{}]+)(\}:[^]+)$/;

/** The parts of a line; `undefined` if it has another shape. */
function readLine(line: string) {
  const [name, text, freshAt, ...more] = parsed(line);
  if (typeof name !== "string" || typeof text !== "string" || more.length > 0) return undefined;
  if (typeof freshAt !== "number" || !(freshAt > 0 && freshAt <= LAST_FRESH)) return undefined;
  const match = NAME_REGEXP.exec(name);
  if (match === null) return undefined;
  const [, start, key, end] = match as unknown as readonly [string, string, string, string];
  return { family: start + end, key: plainKey(key), text, freshAt };
}

function parsed(line: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(line);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
