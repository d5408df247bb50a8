/*
 * Snapshots of a memory store as lines of text, and back. A line is a JSON array: the stored key, the
 * state as its codec's text, and the instant when the key is fresh, as the store keeps it.
 *
 * A snapshot may come before a limiter has opened the families of its lines. Their states then wait as
 * text in ordinary slots until a limiter opens the family (`tableOf` in slots.ts).
 */

import { escapedKey, plainKey } from "../../core/stored_key.ts";
import { freshAtOf } from "./expiry_queue.ts";
import { keepState } from "./keep_state.ts";
import { textBytes } from "./key_bytes.ts";
import { bytesOf, heldBytes, lacksRoom, type Slots, stateIn, takesTooMuch } from "./slots.ts";
import { emptyTable, familyOf, slotBeside, slotOf } from "./table.ts";

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

/** The lines of all keys, one after the other. They may or may not show calls in between. */
export function* dumpLines(slots: Slots): Generator<string, void> {
  for (const each of slots.tables.values()) {
    const { maps } = each;
    const family = familyOf(each);
    const at = family.indexOf("{}") + 1;
    const [start, end] = [family.slice(0, at), family.slice(at)];
    for (const map of maps) {
      for (const [key, slot] of map) {
        // A limiter that opens the family in between makes another table of the same keys.
        const { algorithm } = slots.owners[slot]!;
        const state = stateIn(slots, slot);
        const text = algorithm === undefined ? state : algorithm.codec.encode(state);
        yield JSON.stringify([start + escapedKey(key) + end, text, freshAtOf(slots.queue, slot)]);
      }
    }
  }
}

/** Puts the key of a line into the store, and counts the outcome. */
export function restoreLine(
  slots: Slots,
  line: string,
  now: number,
  lines: { -readonly [Outcome in keyof RestoredLines]: number },
): void {
  lines[outcomeOf(slots, line, now)]++;
}

function outcomeOf(slots: Slots, line: string, now: number): keyof RestoredLines {
  const read = readLine(line);
  if (read === undefined) return "unreadable";
  const { family, key, text, freshAt } = read;
  if (freshAt <= now) return "outdated";
  const table = slots.tables.get(family) ?? emptyTable(family, false, undefined, waitingBytes);
  const state = table.algorithm === undefined ? text : table.algorithm.codec.decode(text);
  if (state === undefined) return "unreadable";
  const slot = slotOf(table, key) ?? slotBeside(slots, table, key);
  // The state that is fresh later has more use in it, or later use.
  if (slot !== undefined && freshAtOf(slots.queue, slot) >= freshAt) return "outdated";
  const bytes = textBytes(key) + bytesOf(table, state);
  const added = bytes - heldBytes(slots, table, slot);
  if (takesTooMuch(slots, bytes) || lacksRoom(slots, slot === undefined ? 1 : 0, added)) {
    return "full";
  }
  keepState(slots, table, key, slot, state, undefined, freshAt, now);
  return "restored";
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
