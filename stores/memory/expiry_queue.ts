/*
 * Slots in the order in which their keys become fresh again, without moving one at each call.
 *
 * A key's instant of freshness moves on with nearly every admitted call. So the queue, a binary
 * heap, orders slots by a bound, which is never later than the true instant, and mends a bound only
 * when it has come to the top: an admitted call then costs one store into `freshAt`. Each mending
 * was paid for by a call that moved the instant on. When very many bounds are outdated at once, all
 * of them are mended and the heap is built anew, in linear time.
 */

/** Slots in the order of their instants. */
export interface ExpiryQueue {
  /**
   * When each slot is fresh. May be written: a later instant at once, an earlier one with `hasten`.
   * Replaced by `grow`.
   */
  readonly fresh: Float64Array;
  /** What each slot is queued by: never later than it is fresh. Replaced by `grow`. */
  readonly bounds: Float64Array;
  /** How many slots are queued. */
  size(): number;
  /** The least instant at which a slot may be fresh; `Infinity` when none is queued. */
  dueAt(): number;
  /** The slot that is fresh first; only when one is queued. */
  first(): number;
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
  let fresh = new Float64Array(capacity);
  let bounds = new Float64Array(capacity);
  let places = new Int32Array(capacity);
  let heap = new Int32Array(capacity);
  let size = 0;

  function put(slot: number, place: number): void {
    heap[place] = slot;
    places[slot] = place;
  }

  function rise(slot: number, from: number): void {
    const bound = bounds[slot]!;
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >>> 1;
      const above = heap[parent]!;
      if (bounds[above]! <= bound) break;
      put(above, place);
      place = parent;
    }
    put(slot, place);
  }

  function sink(slot: number, from: number): void {
    const bound = bounds[slot]!;
    let place = from;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= size) break;
      if (child + 1 < size && bounds[heap[child + 1]!]! < bounds[heap[child]!]!) child++;
      const below = heap[child]!;
      if (bounds[below]! >= bound) break;
      put(below, place);
      place = child;
    }
    put(slot, place);
  }

  function mendAll(): void {
    for (let place = 0; place < size; place++) bounds[heap[place]!] = fresh[heap[place]!]!;
    for (let place = (size >>> 1) - 1; place >= 0; place--) sink(heap[place]!, place);
  }

  const queue = {
    fresh,
    bounds,
    size: () => size,
    dueAt: () => size === 0 ? Infinity : bounds[heap[0]!]!,
    first() {
      for (let mended = 0;; mended++) {
        const slot = heap[0]!;
        if (bounds[slot] === fresh[slot]) return slot;
        if (mended > 64 && mended > size >>> 3) mendAll();
        else {
          bounds[slot] = fresh[slot]!;
          sink(slot, 0);
        }
      }
    },
    add(slot: number, freshAt: number) {
      fresh[slot] = freshAt;
      bounds[slot] = freshAt;
      rise(slot, size++);
    },
    hasten(slot: number) {
      bounds[slot] = fresh[slot]!;
      rise(slot, places[slot]!);
    },
    remove(slot: number) {
      const place = places[slot]!;
      const last = heap[--size]!;
      if (last === slot) return;
      if (bounds[last]! < bounds[slot]!) rise(last, place);
      else sink(last, place);
    },
    grow(wanted: number) {
      queue.fresh = fresh = grown(fresh, new Float64Array(wanted));
      queue.bounds = bounds = grown(bounds, new Float64Array(wanted));
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
