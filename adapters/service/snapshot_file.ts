/*
 * The counters of a service in a file, so that a restart keeps them. A new file is written
 * completely, and then replaces the old file by a rename, so a reader finds either the old or the
 * new one. A service starts whatever the file holds.
 */

import { createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";

import type { MemoryStore, Store } from "../../mod.ts";
import { errorText, type Log } from "./log.ts";
import type { ServeSettings } from "./serve_options.ts";

/** The store of a snapshot. */
type SnapshotStore = Pick<MemoryStore, "dump" | "restore">;

/** The longest line that is kept, in characters; a longer line counts as malformed. */
const LONGEST_LINE = 2 ** 24;
/** How much text is written at once. */
const CHUNK = 2 ** 18;

/**
 * If the settings name a snapshot, reads it into a store, and then writes it at intervals. A file
 * that is not a snapshot is left alone, because its name may be a mistake.
 *
 * @returns A function that writes the snapshot a last time, after any write that is under way.
 */
export async function followSnapshot(
  { snapshot: path, snapshotEvery, log }: Pick<
    ServeSettings,
    "snapshot" | "snapshotEvery" | "log"
  >,
  store: Store,
): Promise<() => Promise<void> | void> {
  if (path === undefined) return () => {};
  const own = store as Store & SnapshotStore;
  if (!await readSnapshot(own, path, log)) return () => {};
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();

  function write(): Promise<void> {
    return writing = writing.then(() => writeSnapshot(own, path!)).catch((error) => {
      log({ event: "snapshot-failed", level: "error", path, error: errorText(error) });
    });
  }
  function wait(): void {
    if (!isClosed) timer = setTimeout(() => void write().then(wait), snapshotEvery);
  }
  wait();
  return () => {
    isClosed = true;
    clearTimeout(timer);
    return write();
  };
}

/**
 * Reads a snapshot file, as far as it can be read, and logs what it held.
 *
 * @returns Whether the file may be written over.
 */
async function readSnapshot(store: SnapshotStore, path: string, log: Log): Promise<boolean> {
  try {
    const found = await store.restore(linesOf(path));
    const { restored, outdated, full, unreadable } = found;
    const isForeign = unreadable > 0 && restored + outdated + full === 0;
    const level = isForeign ? "error" : unreadable + full > 0 ? "warning" : "info";
    const reason = "it holds no snapshot, so it is not overwritten";
    log({ event: "snapshot-read", level, path, ...found, ...(isForeign && { reason }) });
    return !isForeign;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === "ENOENT") return true;
    log({ event: "snapshot-failed", level: "error", path, error: errorText(error) });
    return false;
  }
}

/** Writes the keys of a store into a file, which appears completely or not at all. */
async function writeSnapshot(store: SnapshotStore, path: string): Promise<void> {
  const besides = `${path}.new`;
  // Keys are often names or addresses of people.
  const file = await open(besides, "w", 0o600);
  try {
    let text = "";
    for (const line of store.dump()) {
      text += `${line}\n`;
      if (text.length < CHUNK) continue;
      await file.write(text);
      text = "";
    }
    await file.write(text);
    await file.sync();
    await file.close();
    await rename(besides, path);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(besides, { force: true }).catch(() => {});
    throw error;
  }
}

/** The lines of a file; a line that is too long becomes an empty line. */
async function* linesOf(path: string): AsyncGenerator<string, void> {
  let rest = "";
  let isTooLong = false;
  for await (const chunk of createReadStream(path, "utf8") as AsyncIterable<string>) {
    const lines = chunk.split("\n");
    lines[0] = rest + lines[0];
    rest = lines.pop()!;
    for (const line of lines) {
      yield isTooLong ? "" : line;
      isTooLong = false;
    }
    if (rest.length > LONGEST_LINE) isTooLong = true;
    if (isTooLong) rest = "";
  }
  if (rest !== "" || isTooLong) yield rest;
}
