/*
 * A memory store counts for one process only, which most deployments of several find out by chance:
 * four workers admit four times the limit. So a limiter on such a store says so, once, where it can
 * see that its process is one of several: a worker of `node:cluster`, or an instance of PM2.
 */

/** The facts that a process reports about itself, as far as the runtime has them. */
export interface ProcessFacts {
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Node 20.16 and later, Bun, Deno. Without it a worker of `node:cluster` cannot be seen. */
  getBuiltinModule?(name: string): unknown;
}

const counting = new WeakSet<object>();
let warned = false;

/** Notes a store that counts for one process, and was not made for that on purpose. */
export function noteProcessStore(store: object): void {
  counting.add(store);
}

/** Warns, the first time in this process, if a limiter's store counts for one process of several. */
export function warnOfProcesses(
  store: object,
  facts: ProcessFacts | undefined = (globalThis as { readonly process?: ProcessFacts }).process,
): void {
  if (warned || !counting.has(store) || !isOneOfSeveral(facts)) return;
  warned = true;
  console.warn(
    "tidegate: this process is one of several, and a memory store counts for it alone, so each of " +
      "them admits the whole limit. Use sqliteStore or redisStore for a limit that they share, " +
      "or memoryStore({ perProcess: true }) if a limit for each is meant.",
  );
}

/** Whether a process is one of several of the same program, as far as it can be seen. */
export function isOneOfSeveral(facts: ProcessFacts | undefined): boolean {
  try {
    // Only PM2 numbers instances by this name; the first one may be the only one.
    if (Number(facts?.env?.NODE_APP_INSTANCE) > 0) return true;
    const cluster = facts?.getBuiltinModule?.("node:cluster") as { isWorker?: boolean } | undefined;
    return cluster?.isWorker === true;
  } catch {
    // A runtime may permit neither.
    return false;
  }
}
