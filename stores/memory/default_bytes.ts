/*
 * How many bytes a memory store may take if nobody says. An engine that runs out of heap ends its
 * process, so the heap decides, and each runtime says in its own way how large that may become.
 */

/** The facts that a runtime reports about its memory, as far as it has them. */
export interface MemoryFacts {
  readonly process?: {
    /** Node 20.16 and later, Bun, Deno. */
    getBuiltinModule?(name: string): unknown;
    /** Node and Bun; Deno would ask for a permission. */
    constrainedMemory?(): number;
  };
  /** Bun, whose engine has no limit but that of the machine. */
  readonly Bun?: unknown;
  /** Chromium. */
  readonly performance?: { readonly memory?: { readonly jsHeapSizeLimit?: number } };
}

/** The share of its heap that a store may take: limiters, callers and garbage need the rest. */
const SHARE = 1 / 4;
/** The part of V8's limit that may be for young objects, which a store's are not. */
const YOUNG = 192 * 2 ** 20;
/** Where a runtime does not say, as workers at the edge, whose heap is 128 MiB. */
const UNKNOWN = 64 * 2 ** 20;

let known: number | undefined;

/** The default of `maxBytes`: asked once, because engines take their time to answer. */
export function defaultBytes(): number {
  return known ??= bytesBy(globalThis as MemoryFacts);
}

/** The default of `maxBytes` in a runtime. */
export function bytesBy(facts: MemoryFacts): number {
  const heap = heapLimit(facts);
  // A machine without a bound on memory may answer 2^63 and more.
  return heap > 0 && heap < 2 ** 50 ? Math.max(1_024, Math.floor(heap * SHARE)) : UNKNOWN;
}

/** How large the heap may become; `NaN` where the runtime does not say. */
function heapLimit({ process, Bun, performance }: MemoryFacts): number {
  try {
    if (Bun !== undefined) return Number(process?.constrainedMemory?.());
    const v8 = process?.getBuiltinModule?.("node:v8") as
      | { getHeapStatistics(): { readonly heap_size_limit: number } }
      | undefined;
    const limit = v8?.getHeapStatistics().heap_size_limit ?? performance?.memory?.jsHeapSizeLimit;
    return Math.max(Number(limit) - YOUNG, Number(limit) / 8);
  } catch {
    // A runtime may permit none of them.
    return NaN;
  }
}
