/*
 * YAML and JSON as data, with the place of everything in the text, so that a fault of the rules is
 * reported with its position. A text that would take much time or memory is refused.
 */

import type { Document, LineCounter, Node } from "yaml";

import { loadPackage } from "../../optional_packages/load_package.ts";
import type { DataPath } from "./rule_problem.ts";

/** A place in a text, counted from 1. */
export interface TextPlace {
  /** The line. */
  readonly line: number;
  /** The column. */
  readonly column: number;
}

/** The value of a YAML or JSON text, and where its parts are. */
export interface ReadText {
  /** The text as data; `undefined` if it could not be read. */
  readonly data: unknown;
  /** The fault that kept the text from being read. */
  readonly errors: readonly { readonly message: string; readonly place: TextPlace | undefined }[];
  /** The position of a path in the text: of its value, or of its key. */
  placeOf(path: DataPath, atKey: boolean): TextPlace | undefined;
}

/**
 * Reads texts. `yamlReader` returns a promise of it, because it loads the parsing package on
 * demand.
 */
export interface YamlReader {
  /**
   * Reads a text; the answer contains the errors that keep it from being read.
   *
   * @param text YAML 1.2, and so JSON.
   * @param plain Whether scalars stay text.
   */
  read(text: string, plain: boolean): ReadText;
}

/** The most aliases that a text may expand to: enough for people, too few for a bomb. */
const MAX_ALIASES = 100;

/**
 * The most levels of a text. The bound is needed because an alias inside the node that it names has
 * endless levels.
 */
const MAX_LEVELS = 200;

type Yaml = typeof import("yaml");

/** A text that was parsed without an error. */
interface Parsed {
  readonly document: Document;
  readonly lines: LineCounter;
  readonly yaml: Yaml;
}

let reader: Promise<YamlReader> | undefined;

/**
 * The reader of YAML, by the package `yaml`.
 *
 * @throws {Error} If the package is not installed or too old; the message names the command that
 * installs it.
 */
export function yamlReader(): Promise<YamlReader> {
  reader ??= loadReader();
  return reader;
}

async function loadReader(): Promise<YamlReader> {
  const yaml = await loadPackage({
    name: "yaml",
    action: "read rules",
    since: "2.0",
    load: () => import("yaml"),
    isRecent: (module) => "LineCounter" in module,
  });
  return { read: (text, plain) => readText(yaml, text, plain) };
}

function readText(yaml: Yaml, text: string, plain: boolean): ReadText {
  const lines = new yaml.LineCounter();
  try {
    const document = yaml.parseDocument(text, {
      lineCounter: lines,
      // The package's own check takes time quadratic in the number of keys: see duplicateKey.
      uniqueKeys: false,
      stringKeys: false,
      prettyErrors: false,
      strict: true,
      // Warnings are handled below, and must not go to the console.
      logLevel: "error",
      ...(plain ? { schema: "failsafe" as const } : {}),
    });
    return readDocument({ document: document as Document, lines, yaml });
  } catch (error) {
    // A text that is nested too deeply overflows the parser's stack; several documents are an
    // error, too.
    return unreadable(error instanceof Error ? error.message : String(error));
  }
}

function readDocument(parsed: Parsed): ReadText {
  const { document, lines } = parsed;
  // Even a warning, such as an unknown tag, points to a mistake.
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) return unreadable(error.message, placeAt(lines, error.pos[0]));
  const duplicate = duplicateKey(parsed);
  if (duplicate !== undefined) {
    const place = placeAt(lines, duplicate.range?.[0] ?? 0);
    return unreadable("Map keys must be unique", place);
  }
  const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
  if (isDeep(data)) return unreadable(`Nested more than ${MAX_LEVELS} levels deep`);
  return { data, errors: [], placeOf: (path, atKey) => placeOf(parsed, path, atKey) };
}

/** The position of a path, or of the longest part of it that exists. */
function placeOf(parsed: Parsed, path: DataPath, atKey: boolean): TextPlace | undefined {
  const ofKey = atKey ? startOfKey(parsed, path) : undefined;
  if (ofKey !== undefined) return placeAt(parsed.lines, ofKey);
  for (let length = path.length; length >= 0; length--) {
    const start = nodeAt(parsed, path.slice(0, length))?.range?.[0];
    if (start !== undefined) return placeAt(parsed.lines, start);
  }
  return undefined;
}

function startOfKey(parsed: Parsed, path: DataPath): number | undefined {
  const map = nodeAt(parsed, path.slice(0, -1));
  const pair = parsed.yaml.isMap(map)
    ? map.items.find(({ key }) => String((key as { value?: unknown }).value) === path.at(-1))
    : undefined;
  return (pair?.key as Node | undefined)?.range?.[0];
}

function nodeAt({ document }: Parsed, path: DataPath): Node | undefined {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  return (node ?? undefined) as Node | undefined;
}

/** The first key that occurs twice in a map. */
function duplicateKey({ document, yaml }: Parsed): Node | undefined {
  const open: unknown[] = [document.contents];
  while (open.length > 0) {
    const node = open.pop();
    if (yaml.isSeq(node)) open.push(...[...node.items].reverse());
    if (!yaml.isMap(node)) continue;
    const seen = new Set<unknown>();
    for (const { key } of node.items) {
      const meant = yaml.isAlias(key) ? key.resolve(document) : key;
      const name = yaml.isScalar(meant) ? meant.value : meant;
      if (seen.has(name)) return key as Node;
      seen.add(name);
    }
    for (const { value } of [...node.items].reverse()) open.push(value ?? null);
  }
  return undefined;
}

/** Whether data has more than so many levels. */
function isDeep(data: unknown, levels = MAX_LEVELS): boolean {
  if (typeof data !== "object" || data === null) return false;
  return levels === 0 || Object.values(data).some((child) => isDeep(child, levels - 1));
}

/** A text that could not be read, for the reason in the first line of a message. */
function unreadable(message: string, place?: TextPlace): ReadText {
  const [line = message] = message.split("\n");
  return { data: undefined, errors: [{ message: line, place }], placeOf: () => undefined };
}

function placeAt(lines: LineCounter, offset: number): TextPlace {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}
