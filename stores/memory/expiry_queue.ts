/*
 * Slots in the order in which their keys become fresh again, without moving one at each call.
 *
 * A key's instant of freshness moves on with nearly every admitted call. So the queue, a binary
 * heap, orders slots by a bound, which is never later than the true instant, and mends a bound only
 * when it has come to the top: an admitted call then costs one store into its cell. Each mending was
 * paid for by a call that moved the instant on. When very many bounds are outdated at once, all of
 * them are mended and the heap is built anew, in linear time.
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
   * once, one before the bound with `hasten`.
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

/** When a slot is fresh. */
export function freshAtOf({ cells }: ExpiryQueue, slot: number): number {
  return cells[WIDTH * slot + FRESH_AT]!;
}

/** The slot that is fresh first; only when one is queued. */
export function firstSlot(queue: ExpiryQueue): number {
  for (let mended = 0;; mended++) {
    const slot = queue.heap[0]!;
    // Put so that it ends with NaN, too, which an algorithm of somebody's own may come to.
    if (!(boundOf(queue, slot) < freshAtOf(queue, slot))) return slot;
    if (mended > 64 && mended > queue.size >>> 3) mendAll(queue);
    else {
      mend(queue, slot);
      sink(queue, slot, 0);
    }
  }
}

/** Queues a slot. */
export function addSlot(queue: ExpiryQueue, slot: number, freshAt: number): void {
  queue.cells[WIDTH * slot + FRESH_AT] = freshAt;
  mend(queue, slot);
  rise(queue, slot, queue.size++);
}

/** Moves a queued slot that is fresh before its bound. */
export function hasten(queue: ExpiryQueue, slot: number): void {
  mend(queue, slot);
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

function mend({ cells }: ExpiryQueue, slot: number): void {
  cells[WIDTH * slot + BOUND] = cells[WIDTH * slot + FRESH_AT]!;
}

function mendAll(queue: ExpiryQueue): void {
  for (let place = 0; place < queue.size; place++) mend(queue, queue.heap[place]!);
  for (let place = (queue.size >>> 1) - 1; place >= 0; place--) {
    sink(queue, queue.heap[place]!, place);
  }
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
