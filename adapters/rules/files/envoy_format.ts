/*
 * Reads Envoy's rate limit configuration as envoyproxy/ratelimit does.
 *
 * Every scalar is read as text, and converted to a number or a boolean where one is needed, by the
 * rules of the YAML 1.1 parser that the original uses: `value: 010` is
 * the text 010 and `requests_per_unit: 010` is 8.
 *
 * Source: envoyproxy/ratelimit at f2fb157, src/config/config_impl.go.
 */

import type { LimitOptions, RuleFault, RuleOptions } from "../../../core/rules/rules.ts";
import { type Schema, type SchemaFault, schemaFaults } from "./check_schema.ts";
import type { RuleFile } from "./rule_file.ts";

const TEXT: Schema = { type: "string" };

/** The boolean fields of a descriptor, and their names in rules. */
const TRUTHS = {
  share_threshold: "share",
  shadow_mode: "shadow",
  quota_mode: "quota",
  detailed_metric: "detailed",
} as const;

const TRUTH_NAMES = Object.keys(TRUTHS) as (keyof typeof TRUTHS)[];

function map(properties: NonNullable<Schema["properties"]>): Schema {
  return { type: "object", properties, additionalProperties: false };
}

const DESCRIPTORS: Schema = { type: "array", items: { $ref: "#/$defs/descriptor" } };

/** The form of Envoy's files, with every scalar as text. */
const ENVOY_SCHEMA: Schema = {
  ...map({ domain: TEXT, descriptors: DESCRIPTORS }),
  $defs: {
    descriptor: map({
      key: TEXT,
      value: TEXT,
      rate_limit: map({
        name: TEXT,
        replaces: { type: "array", items: map({ name: TEXT }) },
        unit: TEXT,
        requests_per_unit: TEXT,
        unlimited: TEXT,
      }),
      ...Object.fromEntries(TRUTH_NAMES.map((name) => [name, TEXT])),
      value_to_metric: TEXT,
      metadata: {},
      descriptors: DESCRIPTORS,
    }),
  },
};

/** Milliseconds of Envoy's units. */
export const ENVOY_UNITS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
  month: 2_592_000_000,
  year: 31_536_000_000,
};

interface EnvoyLimit {
  readonly name?: string;
  readonly replaces?: readonly { readonly name?: string }[];
  readonly unit?: string;
  readonly requests_per_unit?: string;
  readonly unlimited?: string;
}

interface EnvoyDescriptor extends Readonly<Partial<Record<keyof typeof TRUTHS, string>>> {
  readonly key?: string;
  readonly value?: string;
  readonly rate_limit?: EnvoyLimit;
  readonly descriptors?: readonly EnvoyDescriptor[];
}

/** A place in the data, where faults are reported. */
interface Place {
  fault(message: string): void;
  at(...steps: RuleFault["path"]): Place;
}

function placeIn(faults: SchemaFault[], path: RuleFault["path"]): Place {
  return {
    fault: (message) => void faults.push({ path, message, atKey: false }),
    at: (...steps) => placeIn(faults, [...path, ...steps]),
  };
}

/**
 * Turns Envoy's descriptors into rules.
 *
 * @param data The contents of a file, with every scalar as text.
 */
export function readEnvoy(
  data: unknown,
): { readonly file: RuleFile | undefined; readonly faults: readonly SchemaFault[] } {
  const present = withoutEmpty(data);
  const faults = [...schemaFaults(ENVOY_SCHEMA, present)];
  if (faults.length > 0) return { file: undefined, faults };
  const { domain = "", descriptors } = present as {
    readonly domain?: string;
    readonly descriptors?: readonly EnvoyDescriptor[];
  };
  const place = placeIn(faults, []);
  if (domain === "") place.fault("config file cannot have empty domain: domain is required");
  const rules = levelOf(descriptors, place.at("descriptors"));
  return { file: { domain, charge: "each", changes: "keep", rules }, faults };
}

/** Drops keys without a value, which Envoy treats as absent. */
function withoutEmpty(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(withoutEmpty);
  if (typeof data !== "object" || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, value]) =>
      value === null || value === "" ? [] : [[key, withoutEmpty(value)]]
    ),
  );
}

function levelOf(list: readonly EnvoyDescriptor[] = [], level: Place): RuleOptions[] {
  const seen = new Set<string>();
  return list.map((descriptor, index) => {
    const { key = "", value } = descriptor;
    const place = level.at(index);
    if (key === "") place.fault("descriptor has an empty key: key is required");
    const composite = value === undefined ? key : `${key}_${value}`;
    if (seen.has(composite)) place.fault(`duplicate descriptor composite key '${composite}'`);
    seen.add(composite);
    return ruleOf(descriptor, place);
  });
}

function ruleOf(descriptor: EnvoyDescriptor, place: Place): RuleOptions {
  const { key = "", value, rate_limit: limit, descriptors } = descriptor;
  const truths: Partial<Record<typeof TRUTHS[keyof typeof TRUTHS], boolean>> = {};
  for (const name of TRUTH_NAMES) truths[TRUTHS[name]] = truth(descriptor[name], place.at(name));
  if (truths.share === true && value?.includes("*") !== true) {
    place.at("share_threshold").fault("share_threshold needs a value with a '*'");
    truths.share = false;
  }
  return {
    key,
    value,
    ...truths,
    ...(limit === undefined ? {} : verdictOf(limit, place.at("rate_limit"))),
    rules: levelOf(descriptors, place.at("descriptors")),
  };
}

function verdictOf(limit: EnvoyLimit, place: Place): Partial<RuleOptions> {
  const { name, unit, replaces = [] } = limit;
  const names = replaces.flatMap(({ name: other }, index) => {
    if (other !== undefined && other !== name) return [other];
    place.at("replaces", index).fault(
      other === undefined
        ? "should not have an empty replaces entry"
        : `replaces should not contain its own name '${other}'`,
    );
    return [];
  });
  const isUnlimited = truth(limit.unlimited, place.at("unlimited"));
  if (isUnlimited && unit !== undefined) {
    place.at("unit").fault("should not specify rate limit unit when unlimited");
  }
  const verdict = isUnlimited ? { unlimited: true } : limitOf(limit, place);
  return { name, replaces: names, ...verdict };
}

function limitOf(
  { unit = "", requests_per_unit: requests = "0" }: EnvoyLimit,
  place: Place,
): Partial<RuleOptions> {
  const limit = envoyLimit(count(requests, place.at("requests_per_unit")), unit);
  if (limit === undefined) {
    const known = Object.keys(ENVOY_UNITS).join(", ");
    const where = unit === "" ? place : place.at("unit");
    where.fault(`invalid rate limit unit '${unit}': expected one of ${known}`);
  }
  return limit === undefined || limit === "blocked" ? { blocked: true } : { limits: [limit] };
}

function truth(text: string | undefined, place: Place): boolean {
  if (text === undefined || /^(n|no|false|off)$/i.test(text)) return false;
  if (!/^(y|yes|true|on)$/i.test(text)) place.fault(`expected true or false, not '${text}'`);
  return true;
}

function count(text: string, place: Place): number {
  const value = /^0[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number(text);
  if (/^[0-9]/.test(text) && Number.isInteger(value) && value < 2 ** 32) return value;
  place.fault(`expected an integer from 0 to 4294967295, not '${text}'`);
  return 0;
}

/**
 * Makes the limit that Envoy's configuration and protocol write as requests per unit: a fixed window
 * aligned to the unit, which is Envoy's only algorithm. Zero requests per unit give "blocked".
 *
 * @param unit One of `ENVOY_UNITS`, in any case.
 * @returns `undefined` if the unit is unknown.
 */
export function envoyLimit(
  requestsPerUnit: number,
  unit: string,
): LimitOptions | "blocked" | undefined {
  const name = unit.toLowerCase();
  if (!Object.hasOwn(ENVOY_UNITS, name)) return undefined;
  if (requestsPerUnit === 0) return "blocked";
  return { algorithm: "fixedWindow", limit: requestsPerUnit, period: ENVOY_UNITS[name]! };
}
