/*
 * A driver for Deno KV. A group of keys is one atomic operation, which checks the versions that the
 * driver read just before.
 *
 *   const store = compareAndSetStore(denoKv(await Deno.openKv()));    deno run --unstable-kv
 */
import { type CompareAndSet, type DriverCell, DriverError } from "../../stores/stores.ts";

/** The part of `Deno.Kv` that the driver needs. */
export interface Kv {
  /** Reads at most ten keys. */
  getMany(keys: KvKey[]): Promise<KvEntry[]>;
  /** Begins an atomic operation. */
  atomic(): KvAtomic;
  /** Reads all keys from one to another, in their order. */
  list(selector: { prefix: KvKey; start: KvKey }): AsyncIterable<{ readonly key: unknown }>;
  /** Deletes a key. */
  delete(key: KvKey): Promise<void>;
  /** Closes it. */
  close(): void;
}

type KvKey = readonly string[];
interface KvEntry {
  readonly key: unknown;
  readonly value: unknown;
  readonly versionstamp: string | null;
}
interface KvAtomic {
  check(entry: { key: KvKey; versionstamp: string | null }): KvAtomic;
  set(key: KvKey, value: string, options?: { expireIn?: number }): KvAtomic;
  delete(key: KvKey): KvAtomic;
  commit(): Promise<{ readonly ok: boolean }>;
}

/** How many keys Deno KV reads at once. */
const READ_AT_ONCE = 10;

/** The driver of an open database. Its states lie under `["tidegate", stored key]`. */
export function denoKv(kv: Kv): CompareAndSet {
  const keyOf = ({ key }: DriverCell): KvKey => ["tidegate", key];

  async function read(cells: readonly DriverCell[]): Promise<readonly KvEntry[]> {
    const entries: KvEntry[] = [];
    for (let from = 0; from < cells.length; from += READ_AT_ONCE) {
      entries.push(...await kv.getMany(cells.slice(from, from + READ_AT_ONCE).map(keyOf)));
    }
    return entries;
  }

  /** Commits one group. Returns the texts of its keys if it is lost. */
  async function commitGroup(
    cells: readonly DriverCell[],
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    while (!signal.aborted) {
      const entries = await read(cells);
      const held = entries.map(({ value }) => typeof value === "string" ? value : "");
      if (cells.some((cell, index) => cell.held !== held[index])) return held;
      let operation = kv.atomic();
      for (const [index, cell] of cells.entries()) {
        const key = keyOf(cell);
        operation = operation.check({ key, versionstamp: entries[index]!.versionstamp });
        if (cell.next === cell.held) continue;
        operation = cell.next === ""
          ? operation.delete(key)
          : operation.set(key, cell.next, { expireIn: Math.max(1, cell.freshAt - Date.now()) });
      }
      if ((await operation.commit()).ok) return undefined;
      // Somebody else has written meanwhile. If the text is still the same, try again.
    }
    throw new DriverError("Others were faster each time", { applied: "no" });
  }

  return {
    name: "Deno KV",
    async commit(groups, signal) {
      const outcomes = await Promise.all(groups.map((cells) => commitGroup(cells, signal)));
      const lost = outcomes.flatMap((held, group) => held === undefined ? [] : [{ group, held }]);
      return { lost };
    },
    async deletePrefix(beginning) {
      const prefix = ["tidegate"];
      for await (const { key } of kv.list({ prefix, start: [...prefix, beginning] })) {
        const [, name = ""] = key as KvKey;
        if (!name.startsWith(beginning)) break;
        await kv.delete([...prefix, name]);
      }
    },
    close: () => kv.close(),
  };
}
