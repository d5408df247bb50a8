/*
 * Waiting callers by their deadlines, the earliest first: a binary heap. A caller that leaves stays in
 * it until it comes to the top, or until such callers are the greater part.
 */

/** A caller in a heap of deadlines. */
export interface Due {
  /** The instant at which its wait is over, by the limiter's `passing()`. */
  readonly deadline: number;
}

/** Callers by their deadlines. */
export interface Deadlines<Caller extends Due> {
  heap: Caller[];
  /** How many of the callers still wait. */
  live: number;
}

/** Makes a heap without callers. */
export function deadlines<Caller extends Due>(): Deadlines<Caller> {
  return { heap: [], live: 0 };
}

/** Adds a caller that waits. It does not change `live`: the code that calls it does. */
export function pushDeadline<Caller extends Due>(
  { heap }: Deadlines<Caller>,
  caller: Caller,
): void {
  let place = heap.length;
  heap.push(caller);
  while (place > 0) {
    const parent = (place - 1) >> 1;
    if (heap[parent]!.deadline <= caller.deadline) break;
    heap[place] = heap[parent]!;
    place = parent;
  }
  heap[place] = caller;
}

/**
 * The caller with the earliest deadline among the callers that still wait; callers that have left
 * are dropped.
 */
export function earliest<Caller extends Due>(
  { heap }: Deadlines<Caller>,
  waits: (caller: Caller) => boolean,
): Caller | undefined {
  while (heap.length > 0 && !waits(heap[0]!)) popDeadline(heap);
  return heap[0];
}

/** Drops the callers that have left, once they are the majority. */
export function sweep<Caller extends Due>(
  deadlines: Deadlines<Caller>,
  waits: (caller: Caller) => boolean,
): void {
  const { heap, live } = deadlines;
  if (heap.length <= 2 * live + 16) return;
  deadlines.heap = [];
  for (const caller of heap) if (waits(caller)) pushDeadline(deadlines, caller);
}

/** Takes the earliest caller out. */
export function popDeadline<Caller extends Due>(heap: Caller[]): void {
  const moved = heap.pop();
  if (moved === undefined || heap.length === 0) return;
  let place = 0;
  while (true) {
    let child = 2 * place + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1]!.deadline < heap[child]!.deadline) child++;
    if (moved.deadline <= heap[child]!.deadline) break;
    heap[place] = heap[child]!;
    place = child;
  }
  heap[place] = moved;
}
