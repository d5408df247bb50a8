/*
 * Reads documents as rules. All faults are found before anything is used, so the result is a whole
 * configuration or none, and a reload is the change of one reference.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import {
  algorithmOf,
  compileDomain,
  type Domain,
  type LimitOptions,
  type Rule,
  type RuleFault,
  type RuleOptions,
} from "../../../core/rules/rules.ts";
import { checkOptions, errorMessage } from "../../../core/options/checks.ts";
import { schemaFaults } from "./check_schema.ts";
import { compileRoutes, type Routes } from "./compile_routes.ts";
import { readEnvoy } from "./envoy_format.ts";
import { lintWarnings } from "./lint_warnings.ts";
import { readJson } from "./read_json.ts";
import { type ReadText, type TextPlace, type YamlReader, yamlReader } from "./read_yaml.ts";
import { LONGEST_TEXT, type RuleDocument, type RuleFile, type RuleFormat } from "./rule_file.ts";
import { type DataPath, pathText, problemText, type RuleProblem } from "./rule_problem.ts";
import { ruleSchema } from "./rule_schema.ts";

/** How documents are read. */
export interface ReadRulesOptions {
  /** The form of the documents; default `"auto"`. */
  readonly format?: RuleFormat | undefined;
  /** Whether two documents may name the same domain, and so add to each other; default no. */
  readonly mergeDomains?: boolean | undefined;
}

/** A whole configuration. It never changes; a reload makes another one. */
export interface RuleSet {
  /** The domains by name. */
  readonly domains: ReadonlyMap<string, Domain>;
  /** All rules, each at its index. */
  readonly rules: readonly Rule[];
  /** The routes of each domain that has any. */
  readonly routes: ReadonlyMap<string, Routes>;
  /**
   * The files that the rules were compiled from: valid plain data, which other threads can compile.
   */
  readonly files: readonly RuleFile[];
}

/** The result of reading documents. */
export interface ReadRules {
  /** `undefined` if there is an error. */
  readonly rules: RuleSet | undefined;
  /** Errors and warnings, in the order of the documents. */
  readonly problems: readonly RuleProblem[];
}

/** Reports a fault of a document, with its place there. */
type Report = (
  fault: { readonly path: DataPath; readonly message: string; readonly atKey?: boolean },
  severity?: RuleProblem["severity"],
) => void;

interface Source {
  readonly file: RuleFile;
  readonly report: Report;
}

/** A configuration under construction. */
interface RuleSetDraft {
  readonly domains: Map<string, Domain>;
  readonly rules: Rule[];
  readonly routes: Map<string, Routes>;
  readonly files: RuleFile[];
}

/** Milliseconds for which rules are compiled at a stretch while calls are served. */
const TURN = 5;

/**
 * Reads documents as one configuration.
 *
 * @param yaml The parser of texts; `undefined` if all documents are objects or JSON.
 *
 * @example Every fault with its place
 * ```ts
 * import { problemText, readRules, yamlReader } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const text = "domain: shop\nrules:\n  - { key: user, limits: [{ limit: -1, period: 1s }] }\n";
 * const { rules, problems } = readRules([{ name: "rules.yaml", text }], await yamlReader());
 * assert.equal(rules, undefined);
 * assert.deepEqual(problems.map(problemText), [
 *   "rules.yaml:3:36: error: rules[0].limits[0].limit: expected an integer of at least 0, not -1",
 * ]);
 * ```
 */
export function readRules(
  documents: readonly RuleDocument[],
  yaml: YamlReader | undefined,
  options: ReadRulesOptions = {},
): ReadRules {
  checkGiven(documents, options);
  const problems: RuleProblem[] = [];
  const sources = documents.flatMap((document) =>
    sourceOf(document, yaml, options.format ?? "auto", problems) ?? []
  );
  if (documents.length === 0) {
    const message = "there are no rule files";
    problems.push(problemAt("rules", undefined, [], message, "error"));
  }
  const rules = assemble(sources, options.mergeDomains ?? false);
  const failed = problems.some(({ severity }) => severity === "error");
  return { rules: failed ? undefined : rules, problems };
}

/**
 * Reads documents on this thread; loads the package that parses YAML if a document is not JSON.
 *
 * @throws {Error} If that package is needed and not installed; the message names the command that
 *   installs it.
 */
export async function readDocuments(
  documents: readonly RuleDocument[],
  options: ReadRulesOptions = {},
): Promise<ReadRules> {
  checkGiven(documents, options);
  const texts = documents.flatMap((document) => "text" in document ? document.text : []);
  // Text that begins as JSON does is more likely JSON with a fault than YAML.
  const mayBeJson = texts.every((text) => /^\s*[{[]/.test(text));
  const read = mayBeJson ? readRules(documents, undefined, options) : undefined;
  if (read !== undefined && (texts.length === 0 || read.problems.length === 0)) return read;
  // Only the parser of YAML knows positions in a text of JSON.
  const yaml = await (read === undefined ? yamlReader() : yamlReader().catch(() => undefined));
  return read !== undefined && yaml === undefined ? read : readRules(documents, yaml, options);
}

function checkGiven(documents: readonly RuleDocument[], options: ReadRulesOptions): void {
  const action = "read rules";
  const given: unknown = documents;
  if (!Array.isArray(given) || !given.every((each) => typeof each === "object" && each !== null)) {
    const rule = "documents must be an array of objects such as { name, text }";
    throw new TypeError(errorMessage(action, rule, given));
  }
  checkOptions<ReadRulesOptions>(action, options, { format: true, mergeDomains: true });
}

/**
 * Makes a rule set of the rules that code passes: nothing, the contents of files, or a finished
 * rule set.
 *
 * @throws {TypeError} If they are malformed; the message names every fault.
 */
export function toRuleSet(
  rules: RuleFile | readonly RuleFile[] | RuleSet | undefined,
): RuleSet {
  if (rules === undefined) return noRules();
  if (typeof rules !== "object" || rules === null) {
    throw new TypeError(errorMessage("use the rules", "they must be an object, or several", rules));
  }
  if ("domains" in rules) return rules;
  const files: readonly unknown[] = Array.isArray(rules) ? rules : [rules];
  const read = readRules(files.map((data) => ({ name: "rules", data })), undefined);
  if (read.rules !== undefined) return read.rules;
  const errors = read.problems.filter(({ severity }) => severity === "error");
  throw new TypeError(
    `Cannot use the rules because they have faults: ${errors.map(problemText).join("; ")}`,
  );
}

function sourceOf(
  document: RuleDocument,
  yaml: YamlReader | undefined,
  format: RuleFormat,
  problems: RuleProblem[],
): Source | undefined {
  const { name } = document;
  const own = "text" in document
    ? readText(name, document.text, yaml, false)
    : given(document.data);
  const envoy = format === "envoy" || (format === "auto" && isEnvoy(own.data));
  const read = envoy && "text" in document ? readText(name, document.text, yaml, true) : own;
  problems.push(
    ...read.errors.map(({ message, place }) => problemAt(name, place, [], message, "error")),
  );
  if (read.errors.length > 0) return undefined;
  const report: Report = ({ path, message, atKey = false }, severity = "error") =>
    void problems.push(problemAt(name, read.placeOf(path, atKey), path, message, severity));
  const { file, faults } = envoy
    ? readEnvoy(read.data)
    : { file: read.data as RuleFile, faults: schemaFaults(ruleSchema, read.data) };
  faults.forEach((fault) => report(fault));
  return file === undefined || faults.length > 0 ? undefined : { file, report };
}

/**
 * Compiles files of rules that have no fault, as `RuleSet.files` holds them, and lets the thread do
 * other work in between, because compiling 10,000 rules at once would make calls wait for too long.
 */
export async function compileRules(files: readonly RuleFile[]): Promise<RuleSet> {
  const limits = new Map<LimitOptions, Algorithm>();
  let start = performance.now();
  for (const options of files.flatMap(({ rules }) => limitsOf(rules))) {
    limits.set(options, algorithmOf(options));
    if (performance.now() - start < TURN) continue;
    await new Promise((resolve) => setTimeout(resolve));
    start = performance.now();
  }
  const draft = noRules();
  for (const file of files) {
    await new Promise((resolve) => setTimeout(resolve));
    addFile(draft, file, (options) => limits.get(options)!);
  }
  return draft;
}

function limitsOf(rules: readonly RuleOptions[]): readonly LimitOptions[] {
  return rules.flatMap(({ limits = [], rules = [] }) => [...limits, ...limitsOf(rules)]);
}

/** Compiles what was read; the domains of several files may add to each other. */
function assemble(sources: readonly Source[], merge: boolean): RuleSet {
  const draft = noRules();
  for (const { file, report } of merge ? merged(sources) : sources) {
    if (draft.domains.has(file.domain)) {
      report({ path: ["domain"], message: `duplicate domain '${file.domain}' in another file` });
      continue;
    }
    const faults = addFile(draft, file);
    faults.forEach((fault) => report(fault));
    const domain = draft.domains.get(file.domain);
    if (domain === undefined || faults.length > 0) continue;
    for (const warning of lintWarnings(file, domain)) report(warning, "warning");
  }
  return draft;
}

function noRules(): RuleSetDraft {
  return { domains: new Map(), rules: [], routes: new Map(), files: [] };
}

/** Adds the rules of a file; the answer contains their faults. */
function addFile(
  { domains, rules, routes, files }: RuleSetDraft,
  file: RuleFile,
  makeLimit?: typeof algorithmOf,
): readonly RuleFault[] {
  const { domain, faults } = compileDomain(file, rules.length, makeLimit);
  const compiled = compileRoutes(file.routes ?? [], file.ipv6Prefix);
  if (domain !== undefined) {
    domains.set(domain.name, domain);
    for (const rule of domain.rules) rules.push(rule);
    if (file.routes !== undefined) routes.set(domain.name, compiled.routes);
    files.push(file);
  }
  return [...faults, ...compiled.faults];
}

function merged(sources: readonly Source[]): readonly Source[] {
  const byDomain = new Map<string, Source>();
  for (const source of sources) {
    const { domain } = source.file;
    const first = byDomain.get(domain);
    const file = first === undefined ? source.file : {
      ...first.file,
      rules: [...first.file.rules, ...source.file.rules],
      routes: [...first.file.routes ?? [], ...source.file.routes ?? []],
    };
    byDomain.set(domain, { report: (first ?? source).report, file });
  }
  return [...byDomain.values()];
}

function isEnvoy(data: unknown): boolean {
  return typeof data === "object" && data !== null && Object.hasOwn(data, "descriptors") &&
    !Object.hasOwn(data, "rules");
}

function readText(
  name: string,
  text: string,
  yaml: YamlReader | undefined,
  plain: boolean,
): ReadText {
  if (text.length > LONGEST_TEXT) {
    return failed(`a file must be at most ${LONGEST_TEXT} characters long, not ${text.length}`);
  }
  const json = readJson(text, plain);
  if (json === undefined || (json.errors.length > 0 && yaml !== undefined)) {
    const read = yaml?.read(text, plain);
    if (read !== undefined && (read.errors.length === 0 || !name.endsWith(".json"))) return read;
    return failed(`it is not valid JSON: ${jsonFault(text)}`, read?.errors[0]?.place);
  }
  let places: ReadText | undefined;
  return {
    ...json,
    placeOf: (path, atKey) => (places ??= yaml?.read(text, plain))?.placeOf(path, atKey),
  };
}

/** The runtime's message about a text that is not JSON. */
function jsonFault(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "it must begin with { or [";
}

function given(data: unknown): ReadText {
  return { data, errors: [], placeOf: () => undefined };
}

function failed(message: string, place?: TextPlace): ReadText {
  return { ...given(undefined), errors: [{ message, place }] };
}

function problemAt(
  file: string,
  place: TextPlace | undefined,
  path: DataPath,
  message: string,
  severity: RuleProblem["severity"],
): RuleProblem {
  const where = { line: place?.line, column: place?.column };
  return { file, ...where, path: pathText(path), message, severity };
}
