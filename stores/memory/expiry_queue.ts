/*
 * Slots in the order in which their keys become fresh again, without moving one at each call.
 *
 * A key's instant of freshness moves on with nearly every admitted call. So the queue, a binary
 * heap, orders slots by a bound, which is never later than the true instant, and mends a bound only
 * when it has come to the top: an admitted call then costs one store into its cell. Very many
 * bounds may be outdated at once, so a search for fresh keys mends only a few of them in one call.
 * They do not pile up, because a call outdates one at most.
 *
 * A slot's cell holds what a call touches, side by side, so that it misses the cache once:
 *
 *   cells[WIDTH * slot + STATE]      a state of one number; the queue leaves it alone
 *   cells[WIDTH * slot + FRESH_AT]   when the key is fresh
 *   cells[WIDTH * slot + BOUND]      what the slot is queued by: never later than that
 */

/** Numbers of a cell. */
export const WIDTH = 3;
/** Where a cell has its state. */
export const STATE = 0;
/** Where a cell has the instant at which its key is fresh. */
export const FRESH_AT = 1;
/** Where a cell has the bound by which its slot is queued. */
export const BOUND = 2;

/** Slots in the order of their instants. */
export interface ExpiryQueue {
  /**
   * The cells of all slots; replaced by `growQueue`. `FRESH_AT` may be written: a later instant at
   * once, one before the bound with `moveUp`.
   */
  cells: Float64Array;
  /** Where in the heap each slot is. */
  places: Int32Array;
  /** The slots that are queued, as a binary heap by their bounds. */
  heap: Int32Array;
  /** How many slots are queued. */
  size: number;
}

/** Makes a queue for slots below `capacity`. */
export function expiryQueue(capacity: number): ExpiryQueue {
  return {
    cells: new Float64Array(WIDTH * capacity),
    places: new Int32Array(capacity),
    heap: new Int32Array(capacity),
    size: 0,
  };
}

/** The least instant at which a slot may be fresh; `Infinity` when none is queued. */
export function dueAt(queue: ExpiryQueue): number {
  return queue.size === 0 ? Infinity : boundOf(queue, queue.heap[0]!);
}

/** The state of a slot, where that is a number. */
export function numberIn({ cells }: ExpiryQueue, slot: number): number {
  return cells[WIDTH * slot + STATE]!;
}

/** When a slot is fresh. */
export function freshAtOf({ cells }: ExpiryQueue, slot: number): number {
  return cells[WIDTH * slot + FRESH_AT]!;
}

/** The slot whose bound is the least; only when one is queued. */
export function firstSlot({ heap }: ExpiryQueue): number {
  return heap[0]!;
}

/**
 * Refreshes the bound of the first slot, and moves it to its place.
 *
 * @returns Whether it was outdated; if not, no slot is fresh before this one.
 */
export function refreshFirst(queue: ExpiryQueue): boolean {
  const slot = firstSlot(queue);
  if (boundOf(queue, slot) >= freshAtOf(queue, slot)) return false;
  refreshBound(queue, slot);
  sink(queue, slot, 0);
  return true;
}

/** Queues a slot. */
export function addSlot(queue: ExpiryQueue, slot: number, freshAt: number): void {
  queue.cells[WIDTH * slot + FRESH_AT] = freshAt;
  refreshBound(queue, slot);
  rise(queue, slot, queue.size++);
}

/** Moves a queued slot that is fresh before its bound. */
export function moveUp(queue: ExpiryQueue, slot: number): void {
  refreshBound(queue, slot);
  rise(queue, slot, queue.places[slot]!);
}

/** Takes a slot out. */
export function removeSlot(queue: ExpiryQueue, slot: number): void {
  const place = queue.places[slot]!;
  const last = queue.heap[--queue.size]!;
  if (last === slot) return;
  if (boundOf(queue, last) < boundOf(queue, slot)) rise(queue, last, place);
  else sink(queue, last, place);
}

/** Makes room for slots below `capacity`. */
export function growQueue(queue: ExpiryQueue, capacity: number): void {
  queue.cells = grown(queue.cells, new Float64Array(WIDTH * capacity));
  queue.places = grown(queue.places, new Int32Array(capacity));
  queue.heap = grown(queue.heap, new Int32Array(capacity));
}

function boundOf({ cells }: ExpiryQueue, slot: number): number {
  return cells[WIDTH * slot + BOUND]!;
}

function refreshBound({ cells }: ExpiryQueue, slot: number): void {
  cells[WIDTH * slot + BOUND] = cells[WIDTH * slot + FRESH_AT]!;
}

function put({ heap, places }: ExpiryQueue, slot: number, place: number): void {
  heap[place] = slot;
  places[slot] = place;
}

function rise(queue: ExpiryQueue, slot: number, from: number): void {
  const bound = boundOf(queue, slot);
  let place = from;
  while (place > 0) {
    const parent = (place - 1) >>> 1;
    const above = queue.heap[parent]!;
    if (boundOf(queue, above) <= bound) break;
    put(queue, above, place);
    place = parent;
  }
  put(queue, slot, place);
}

function sink(queue: ExpiryQueue, slot: number, from: number): void {
  const { heap, size } = queue;
  const bound = boundOf(queue, slot);
  let place = from;
  for (;;) {
    let child = 2 * place + 1;
    if (child >= size) break;
    if (child + 1 < size && boundOf(queue, heap[child + 1]!) < boundOf(queue, heap[child]!)) {
      child++;
    }
    const below = heap[child]!;
    if (boundOf(queue, below) >= bound) break;
    put(queue, below, place);
    place = child;
  }
  put(queue, slot, place);
}

function grown<Numbers extends Float64Array | Int32Array>(from: Numbers, to: Numbers): Numbers {
  to.set(from);
  return to;
}
