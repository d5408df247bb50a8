import type { Algorithm } from "../../core/algorithm.ts";
import type { ListedKey, Store } from "../../core/store.ts";
import { keyFamily } from "../../core/stored_key.ts";
import { otherWork } from "../own_timers.ts";
import { openSlotsOf, type Slots, stateIn, tableOf } from "./slots.ts";

/** The keys that are listed before other work of the process goes on. */
const PAGE = 1_000;

/**
 * The `list` of a memory store, or of a store made of one; `undefined` for any other store. It is
 * not a member of the store, so that only programs that list keys carry it.
 */
export function memoryList(store: Store): Store["list"] {
  const slots = openSlotsOf(store);
  return slots && ((prefix, algorithm) => listSlots(slots(), prefix, algorithm));
}

async function* listSlots(
  slots: Slots,
  prefix: string,
  algorithm: Algorithm,
): AsyncGenerator<readonly ListedKey[], void> {
  let page: ListedKey[] = [];
  const table = tableOf(slots, keyFamily(prefix, algorithm.id), algorithm);
  for (const [key, slot] of table.slots) {
    page.push([key, stateIn(slots, slot)]);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
    await otherWork();
  }
  yield page;
}
