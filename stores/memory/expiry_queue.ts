/*
 * Slots in the order in which their keys become fresh again. Calls seldom move a slot.
 *
 * Nearly every admitted call moves the instant at which its key is fresh. So the queue, a binary heap,
 * orders slots by a bound, which is never later than that instant. It corrects a bound only at the
 * top, so an admitted call costs one write into its cell. Very many bounds may be outdated at once, so
 * a search for fresh keys corrects only a few in one call. Outdated bounds do not pile up, because a
 * call outdates one at most.
 *
 * All numbers that a call touches lie side by side in the slot's cell, so the call misses the cache
 * once:
 *
 *   cells[WIDTH * slot + STATE]      a state of one number; the queue leaves it alone
 *   cells[WIDTH * slot + FRESH_AT]   when the key is fresh
 *   cells[WIDTH * slot + BOUND]      the slot's bound in the queue: never later than `FRESH_AT`
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
   * The cells of all slots; `growQueue` replaces them. Others may write `FRESH_AT`: a later instant
   * directly, an instant before the bound with a call of `moveUp`.
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

/** The state of a slot, if states of its key are numbers. */
export function numberIn({ cells }: ExpiryQueue, slot: number): number {
  return cells[WIDTH * slot + STATE]!;
}

/** The instant at which the key of a slot is fresh. */
export function freshAtOf({ cells }: ExpiryQueue, slot: number): number {
  return cells[WIDTH * slot + FRESH_AT]!;
}

/** The slot with the least bound. The queue must not be empty. */
export function firstSlot({ heap }: ExpiryQueue): number {
  return heap[0]!;
}

/**
 * Refreshes the bound of the first slot, and moves it to its place.
 *
 * @returns Whether the bound was outdated. If it was not, no slot is fresh before this one.
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

/** Moves up a queued slot that has become fresh before its bound. */
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
