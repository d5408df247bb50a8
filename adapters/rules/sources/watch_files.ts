/*
 * Watching a file, or the files of a folder.
 *
 * What changes a file may be an editor that writes it in place, one that renames a new one over it,
 * or a link that is turned to another folder (Kubernetes). So the folder is watched and not the file
 * alone, and as watchers miss things the files' marks are compared now and then as well.
 */

import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";

/** How files are watched, in milliseconds. */
export interface WatchTimes {
  /** Between looks at the files' marks. */
  readonly pollEvery: number;
  /** Of quiet after a change before it is reported. */
  readonly settle: number;
}

/**
 * Watches a file or a folder.
 *
 * @param marks What changes whenever the files do.
 * @param changed Called after a change, once the files are quiet.
 * @returns What ends it.
 */
export function watchFiles(
  path: string,
  marks: () => Promise<string>,
  { pollEvery, settle }: WatchTimes,
  changed: () => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let known = "";

  function reportSoon(): void {
    clearTimeout(timer);
    timer = setTimeout(changed, settle);
    unref(timer);
  }

  async function look(): Promise<void> {
    const seen = await marks().catch(() => "gone");
    if (known !== "" && known !== seen) reportSoon();
    known = seen;
  }

  const folders = [...new Set([path, dirname(path)])];
  const watchers = folders.flatMap((folder) => watchFolder(folder, reportSoon) ?? []);
  const poll = setInterval(look, pollEvery);
  unref(poll);
  void look();
  return () => {
    clearTimeout(timer);
    clearInterval(poll);
    for (const watcher of watchers) watcher.close();
  };
}

/** A watcher of a folder; `undefined` if there is none to be had. */
function watchFolder(folder: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    // A folder that is taken away ends its watcher; the looks go on.
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    // Not there, or no more watchers to be had: the looks find what changes.
    return undefined;
  }
}

/** Timers never keep a process alive. In Deno they are numbers where they are the web's. */
function unref(timer: ReturnType<typeof setTimeout>): void {
  (timer as { unref?: () => void }).unref?.();
}
