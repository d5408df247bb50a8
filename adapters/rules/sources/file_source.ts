/*
 * Rules from a file, or from all of a folder.
 *
 * A file is accepted only if its mark was the same before and after it was read, and is not
 * brand-new, so that a file which is still being written is not read in part.
 */

import { createReadStream, type FSWatcher, type Stats, watch } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { inBackground } from "../../../core/in_background.ts";
import { checkOptions, checkText } from "../../../core/options/checks.ts";
import { LONGEST_TEXT, type RuleDocument } from "../files/rule_file.ts";
import type { RuleSource } from "./rule_source.ts";

/** The options of `fileSource`. */
export interface FileSourceOptions {
  /** Milliseconds between checks of the files' marks; default 2,000. */
  readonly pollEvery?: number | undefined;
  /**
   * Milliseconds of quiet after a change before it is reported, and for which a file must have stood
   * still before it is read; at most 1,000; default 100.
   */
  readonly settle?: number | undefined;
}

/** The most files of a folder. */
const MAX_FILES = 1_000;

/** The most reads of a file that is being written all the time. */
const MAX_READS = 80;

/**
 * A source of rules in a YAML or JSON file, or in all such files of a folder.
 *
 * @param path The file or the folder. In a folder, `*.yaml`, `*.yml` and `*.json` count, in the
 *   order of their names.
 * @param options How it is watched.
 *
 * @example
 * ```ts
 * import { fileSource, followRules, ruleEngine } from "tidegate/rules";
 *
 * const engine = ruleEngine();
 * async function start(path: string) {
 *   return await followRules(fileSource(path), { apply: (rules) => engine.replace(rules) });
 * }
 * console.log(typeof start);
 * ```
 */
export function fileSource(path: string, options: FileSourceOptions = {}): RuleSource {
  checkText("create fileSource", "path", path);
  checkOptions<FileSourceOptions>("create fileSource", options, { pollEvery: true, settle: true });
  const { pollEvery = 2_000, settle = 100 } = options;

  return {
    name: path,
    async load() {
      const files = await filesAt(path);
      if (files.length === 0) {
        throw new Error(`Cannot load rules as ${path} must hold a .yaml, .yml or .json file`);
      }
      const documents: RuleDocument[] = [];
      for (const file of files) {
        const name = file === path ? path : basename(file);
        documents.push({ name, ...await read(file, settle) });
      }
      return documents;
    },
    watch: (changed) => watchFiles(path, { pollEvery, settle }, changed),
  };
}

async function filesAt(path: string): Promise<readonly string[]> {
  const found = await stat(path);
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name));
  if (names.length > MAX_FILES) {
    throw new Error(
      `Cannot load rules as ${path} must hold at most ${MAX_FILES} files: it has ${names.length}`,
    );
  }
  return names.sort().map((name) => join(path, name));
}

/** The text of a file that changed neither while it was read nor for a while before. */
async function read(file: string, settle: number): Promise<{ text: string; holder: string }> {
  for (let reads = 0; reads < MAX_READS; reads++) {
    const before = await stat(file);
    const text = await readBounded(file, before);
    const after = await stat(file);
    // A time in the future comes from another machine's clock.
    const age = Date.now() - after.mtimeMs;
    if (markOf(before) === markOf(after) && (age >= settle || age < 0)) {
      return { text, holder: `${before.dev} ${before.ino}` };
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`Cannot load rules as ${file} must not change while it is read`);
}

async function readBounded(file: string, stats: Stats): Promise<string> {
  // Opening a pipe would wait for its writer.
  if (!stats.isFile()) throw new Error(`Cannot load rules as ${file} must be a regular file`);
  if (stats.size > LONGEST_TEXT) {
    throw new Error(
      `Cannot load rules as ${file} must be at most ${LONGEST_TEXT} bytes long: it is ${stats.size}`,
    );
  }
  // The file may have grown since; the compiler refuses a text that is too long.
  const parts: Uint8Array[] = [];
  for await (const part of createReadStream(file, { end: LONGEST_TEXT })) parts.push(part);
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts));
}

async function marksAt(path: string): Promise<string> {
  const files = await filesAt(path);
  const marks = files.map(async (file) => `${file} ${markOf(await stat(file))}`);
  return (await Promise.all(marks)).join("\n");
}

function markOf({ size, mtimeMs, ino }: Stats): string {
  return `${size} ${mtimeMs} ${ino}`;
}

/**
 * Watches a file or a folder. An editor may write a file in place, or rename a new file over it, or
 * a link may be pointed to another folder (Kubernetes). So the folder is watched, not only the
 * file. Because watchers miss changes, the files' marks are also compared at intervals.
 *
 * @param changed Called after a change, once the files are quiet.
 * @returns A function that stops the watching.
 */
function watchFiles(
  path: string,
  { pollEvery, settle }: Readonly<Record<keyof FileSourceOptions, number>>,
  changed: () => void,
): () => void {
  let cancel = () => {};
  let known = "";

  function reportSoon(): void {
    cancel();
    cancel = inBackground(settle, changed);
  }

  async function look(): Promise<void> {
    const seen = await marksAt(path).catch(() => "gone");
    if (known !== "" && known !== seen) reportSoon();
    known = seen;
  }

  const folders = [...new Set([path, dirname(path)])];
  const watchers = folders.flatMap((folder) => watchFolder(folder, reportSoon) ?? []);
  const poll = setInterval(look, pollEvery);
  // Timers never keep a process alive. In Deno they are numbers where they are the web's.
  (poll as { unref?: () => void }).unref?.();
  void look();
  return () => {
    cancel();
    clearInterval(poll);
    for (const watcher of watchers) watcher.close();
  };
}

/** Watches a folder; returns `undefined` if the system cannot watch it. */
function watchFolder(folder: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    // Removing a folder ends its watcher; polling goes on.
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    // The folder is missing, or the system has no more watchers: polling finds changes.
    return undefined;
  }
}
