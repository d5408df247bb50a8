/*
 * Rules from a file, or from all of a folder.
 *
 * A file is taken only if its mark was the same before and after it was read, and is some instants
 * old, so that one that is being written is not read by halves.
 */

import { open, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";

import { checkOptions, checkText } from "../../../core/options/checks.ts";
import { LONGEST_TEXT, type RuleDocument } from "../files/rule_file.ts";
import type { RuleSource } from "./rule_source.ts";
import { watchFiles } from "./watch_files.ts";

/** The options of `fileSource`. */
export interface FileSourceOptions {
  /** Milliseconds between looks at the files' marks; default 2,000. */
  readonly pollEvery?: number | undefined;
  /**
   * Milliseconds of quiet after a change before it is reported, and for which a file must have stood
   * still before it is read; at most 1,000; default 100.
   */
  readonly settle?: number | undefined;
}

/** The most files of a folder. */
const MOST_FILES = 1_000;

/** The most reads of a file that is being written all the time. */
const MOST_READS = 80;

/**
 * A source of rules in a YAML or JSON file, or in all such files of a folder.
 *
 * @param path The file or the folder. Of a folder `*.yaml`, `*.yml` and `*.json` count, by name.
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
        documents.push({ name: nameOf(file), text: await read(file, settle) });
      }
      return documents;
    },
    watch: (changed) => watchFiles(path, () => marksAt(path), { pollEvery, settle }, changed),
  };

  function nameOf(file: string): string {
    return file === path ? path : basename(file);
  }
}

async function filesAt(path: string): Promise<readonly string[]> {
  const found = await stat(path);
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name));
  if (names.length > MOST_FILES) {
    throw new Error(
      `Cannot load rules as ${path} must hold at most ${MOST_FILES} files: it has ${names.length}`,
    );
  }
  return names.sort().map((name) => join(path, name));
}

/** The text of a file that did not change while it was read. */
async function read(file: string, settle: number): Promise<string> {
  for (let reads = 0; reads < MOST_READS; reads++) {
    const before = await markOf(file);
    const text = await readBounded(file);
    if (before === await markOf(file) && await isQuiet(file, settle)) return text;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`Cannot load rules as ${file} must not change while it is read`);
}

/** Whether nothing was written for a while; a time to come, by another machine's clock, counts. */
async function isQuiet(file: string, settle: number): Promise<boolean> {
  const age = Date.now() - (await stat(file)).mtimeMs;
  return age >= settle || age < 0;
}

async function readBounded(file: string): Promise<string> {
  // To open a pipe is to wait for whoever writes into it.
  if (!(await stat(file)).isFile()) {
    throw new Error(`Cannot load rules as ${file} must be a regular file`);
  }
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    if (size > LONGEST_TEXT) {
      throw new Error(
        `Cannot load rules as ${file} must be at most ${LONGEST_TEXT} bytes long: it is ${size}`,
      );
    }
    const bytes = new Uint8Array(size + 1);
    let length = 0;
    while (length <= size) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
  } finally {
    await handle.close();
  }
}

async function marksAt(path: string): Promise<string> {
  const files = await filesAt(path);
  return (await Promise.all(files.map(async (file) => `${file} ${await markOf(file)}`))).join("\n");
}

async function markOf(file: string): Promise<string> {
  const { size, mtimeMs, ino } = await stat(file);
  return `${size} ${mtimeMs} ${ino}`;
}
