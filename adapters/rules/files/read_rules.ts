/*
 * From documents to rules. Everything that can be wrong is found before anything is used: what
 * comes out is a whole configuration or none, so that a reload is the change of one reference.
 */

import {
  compileDomain,
  type Domain,
  type DomainOptions,
  type Rule,
} from "../../../core/rules/rules.ts";
import { lintWarnings } from "./lint_warnings.ts";
import { envoySchema, rulesOfEnvoy, withoutEmpty } from "./envoy_format.ts";
import { ruleSchema } from "./rule_schema.ts";
import { type DataPath, pathText, type RuleProblem } from "./rule_problem.ts";
import type { ReadText, YamlReader } from "./read_yaml.ts";
import { compileRoutes, type RouteOptions, type Routes } from "./compile_routes.ts";
import { type Schema, type SchemaFault, schemaFaults } from "./check_schema.ts";

/** The rules of a domain as a file holds them. */
export interface RuleFile extends DomainOptions {
  /** What HTTP requests ask for. */
  readonly routes?: readonly RouteOptions[] | undefined;
}

/** A file of rules, read but not understood; or the same as an object. */
export type RuleDocument =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly data: unknown };

/** The form of a document: tidegate's own or Envoy's; `"auto"` looks for `descriptors`. */
export type RuleFormat = "auto" | "tidegate" | "envoy";

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
}

/** What documents come to. */
export interface ReadRules {
  /** `undefined` if there is an error. */
  readonly rules: RuleSet | undefined;
  /** Errors and warnings, in the order of the documents. */
  readonly problems: readonly RuleProblem[];
}

/** The longest text that is read, in characters. */
export const LONGEST_TEXT: number = 4 * 2 ** 20;

interface Source {
  readonly file: RuleFile;
  readonly report: (fault: { path: DataPath; message: string }, severity?: "warning") => void;
}

/**
 * Reads documents as one configuration.
 *
 * @param yaml The parser of texts; `undefined` if all documents are objects.
 *
 * @example Every fault with its place
 * ```ts
 * import { problemText, readRules, yamlReader } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const text = "domain: shop\nrules:\n  - { key: user, limits: [{ limit: 0, period: 1s }] }\n";
 * const { rules, problems } = readRules([{ name: "rules.yaml", text }], await yamlReader());
 * assert.equal(rules, undefined);
 * assert.deepEqual(problems.map(problemText), [
 *   "rules.yaml:3:36: error: rules[0].limits[0].limit: expected an integer of at least 1, not 0",
 * ]);
 * ```
 */
export function readRules(
  documents: readonly RuleDocument[],
  yaml: YamlReader | undefined,
  options: ReadRulesOptions = {},
): ReadRules {
  const problems: RuleProblem[] = [];
  const sources = documents.flatMap((document) =>
    sourceOf(document, yaml, options.format ?? "auto", problems) ?? []
  );
  if (documents.length === 0) {
    const message = "there must be at least one file of rules";
    problems.push(problemAt("rules", undefined, [], message, "error"));
  }
  const rules = assemble(sources, options.mergeDomains ?? false);
  const failed = problems.some(({ severity }) => severity === "error");
  return { rules: failed ? undefined : rules, problems };
}

function sourceOf(
  document: RuleDocument,
  yaml: YamlReader | undefined,
  format: RuleFormat,
  problems: RuleProblem[],
): Source | undefined {
  const { name } = document;
  const own = "text" in document ? readText(document.text, yaml, false) : given(document.data);
  const envoy = format === "envoy" || (format === "auto" && isEnvoy(own.data));
  const read = envoy && "text" in document ? readText(document.text, yaml, true) : own;
  for (const { message, place } of read.errors) {
    const where = { line: place?.line, column: place?.column };
    problems.push({ file: name, ...where, path: "", message, severity: "error" });
  }
  if (read.errors.length > 0) return undefined;
  const report = (
    { path, message, atKey = false }: { path: DataPath; message: string; atKey?: boolean },
    severity: RuleProblem["severity"] = "error",
  ) => void problems.push(problemAt(name, read.placeOf(path, atKey), path, message, severity));
  const file = envoy ? fileOfEnvoy(read.data, report) : ownFile(read.data, report);
  return file && { file, report };
}

function ownFile(
  data: unknown,
  report: (fault: SchemaFault) => void,
): RuleFile | undefined {
  return isOf(ruleSchema, data, report) ? data as RuleFile : undefined;
}

function fileOfEnvoy(
  data: unknown,
  report: (fault: SchemaFault) => void,
): RuleFile | undefined {
  const present = withoutEmpty(data);
  if (!isOf(envoySchema, present, report)) return undefined;
  const { options, faults } = rulesOfEnvoy(present as Parameters<typeof rulesOfEnvoy>[0]);
  faults.forEach((fault) => report(fault));
  return faults.length === 0 ? options : undefined;
}

function isOf(schema: Schema, data: unknown, report: (fault: SchemaFault) => void): boolean {
  const faults = schemaFaults(schema, data);
  faults.forEach((fault) => report(fault));
  return faults.length === 0;
}

/** Compiles what was read; the domains of several files may add to each other. */
function assemble(sources: readonly Source[], merge: boolean): RuleSet {
  const domains = new Map<string, Domain>();
  const routes = new Map<string, Routes>();
  const rules: Rule[] = [];
  for (const { file, report } of merge ? merged(sources) : sources) {
    if (domains.has(file.domain)) {
      report({ path: ["domain"], message: `duplicate domain '${file.domain}' in another file` });
      continue;
    }
    const { domain, faults } = compileDomain(file, rules.length);
    faults.forEach((fault) => report(fault));
    const way = compileRoutes(file.routes ?? []);
    way.faults.forEach((fault) => report(fault));
    if (domain === undefined) continue;
    for (const doubt of lintWarnings(file, domain)) report(doubt, "warning");
    domains.set(domain.name, domain);
    rules.push(...domain.rules);
    if (file.routes !== undefined) routes.set(domain.name, way.routes);
  }
  return { domains, rules, routes };
}

function merged(sources: readonly Source[]): readonly Source[] {
  const byDomain = new Map<string, Source>();
  for (const source of sources) {
    const { domain } = source.file;
    const first = byDomain.get(domain);
    byDomain.set(domain, first === undefined ? source : { ...first, file: joined(first, source) });
  }
  return [...byDomain.values()];
}

function joined({ file }: Source, { file: other }: Source): RuleFile {
  return {
    ...file,
    rules: [...file.rules, ...other.rules],
    routes: [...file.routes ?? [], ...other.routes ?? []],
  };
}

function isEnvoy(data: unknown): boolean {
  return typeof data === "object" && data !== null && Object.hasOwn(data, "descriptors") &&
    !Object.hasOwn(data, "rules");
}

function readText(text: string, yaml: YamlReader | undefined, plain: boolean): ReadText {
  if (text.length > LONGEST_TEXT) {
    return failed(`a file must be at most ${LONGEST_TEXT} characters long, not ${text.length}`);
  }
  return yaml === undefined ? failed("there is no parser for it") : yaml.read(text, plain);
}

function given(data: unknown): ReadText {
  return { data, errors: [], placeOf: () => undefined };
}

function failed(message: string): ReadText {
  return { ...given(undefined), errors: [{ message, place: undefined }] };
}

function problemAt(
  file: string,
  place: { readonly line: number; readonly column: number } | undefined,
  path: DataPath,
  message: string,
  severity: RuleProblem["severity"],
): RuleProblem {
  const where = { line: place?.line, column: place?.column };
  return { file, ...where, path: pathText(path), message, severity };
}
