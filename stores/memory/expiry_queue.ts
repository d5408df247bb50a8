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
   * The cells of all slots; replaced by `grow`. `FRESH_AT` may be written: a later instant at
   * once, one before the bound with `hasten`.
   */
  readonly cells: Float64Array;
  /** How many slots are queued. */
  size(): number;
  /** The least instant at which a slot may be fresh; `Infinity` when none is queued. */
  dueAt(): number;
  /** The slot that is fresh first; only when one is queued. */
  first(): number;
  /** When a slot is fresh. */
  freshAt(slot: number): number;
  /** Queues a slot. */
  add(slot: number, freshAt: number): void;
  /** Moves a queued slot that is fresh before its bound. */
  hasten(slot: number): void;
  /** Takes a slot out. */
  remove(slot: number): void;
  /** Makes room for slots below `capacity`. */
  grow(capacity: number): void;
}

/** Makes a queue for slots below `capacity`. */
export function expiryQueue(capacity: number): ExpiryQueue {
  let cells = new Float64Array(WIDTH * capacity);
  let places = new Int32Array(capacity);
  let heap = new Int32Array(capacity);
  let size = 0;

  function freshAt(slot: number): number {
    return cells[WIDTH * slot + FRESH_AT]!;
  }

  function boundOf(slot: number): number {
    return cells[WIDTH * slot + BOUND]!;
  }

  function mend(slot: number): void {
    cells[WIDTH * slot + BOUND] = freshAt(slot);
  }

  function put(slot: number, place: number): void {
    heap[place] = slot;
    places[slot] = place;
  }

  function rise(slot: number, from: number): void {
    const bound = boundOf(slot);
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >>> 1;
      const above = heap[parent]!;
      if (boundOf(above) <= bound) break;
      put(above, place);
      place = parent;
    }
    put(slot, place);
  }

  function sink(slot: number, from: number): void {
    const bound = boundOf(slot);
    let place = from;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= size) break;
      if (child + 1 < size && boundOf(heap[child + 1]!) < boundOf(heap[child]!)) child++;
      const below = heap[child]!;
      if (boundOf(below) >= bound) break;
      put(below, place);
      place = child;
    }
    put(slot, place);
  }

  function mendAll(): void {
    for (let place = 0; place < size; place++) mend(heap[place]!);
    for (let place = (size >>> 1) - 1; place >= 0; place--) sink(heap[place]!, place);
  }

  const queue = {
    cells,
    size: () => size,
    dueAt: () => size === 0 ? Infinity : boundOf(heap[0]!),
    freshAt,
    first() {
      for (let mended = 0;; mended++) {
        const slot = heap[0]!;
        // Put so that it ends with NaN, too, which an algorithm of somebody's own may come to.
        if (!(boundOf(slot) < freshAt(slot))) return slot;
        if (mended > 64 && mended > size >>> 3) mendAll();
        else {
          mend(slot);
          sink(slot, 0);
        }
      }
    },
    add(slot: number, freshAt: number) {
      cells[WIDTH * slot + FRESH_AT] = freshAt;
      mend(slot);
      rise(slot, size++);
    },
    hasten(slot: number) {
      mend(slot);
      rise(slot, places[slot]!);
    },
    remove(slot: number) {
      const place = places[slot]!;
      const last = heap[--size]!;
      if (last === slot) return;
      if (boundOf(last) < boundOf(slot)) rise(last, place);
      else sink(last, place);
    },
    grow(wanted: number) {
      queue.cells = cells = grown(cells, new Float64Array(WIDTH * wanted));
      places = grown(places, new Int32Array(wanted));
      heap = grown(heap, new Int32Array(wanted));
    },
  };
  return queue;
}

function grown<Numbers extends Float64Array | Int32Array>(from: Numbers, to: Numbers): Numbers {
  to.set(from);
  return to;
}
