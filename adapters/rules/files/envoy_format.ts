/*
 * Envoy's rate limit configuration, read as the files are.
 *
 * The files are read with every scalar as the text it is, and turned into numbers and truth values
 * where they are wanted, in the way of the YAML 1.1 reader that the original uses: `value: 010` is
 * the text 010 and `requests_per_unit: 010` is 8.
 *
 * Source: envoyproxy/ratelimit at f2fb157, src/config/config_impl.go.
 */

import type { DomainOptions, LimitOptions, RuleOptions } from "../../../core/rules/rules.ts";
import type { DataPath } from "./rule_problem.ts";
import type { Schema, SchemaFault } from "./check_schema.ts";

const TEXT: Schema = { type: "string" };

const DESCRIPTOR: Schema = {
  type: "object",
  properties: {
    key: TEXT,
    value: TEXT,
    rate_limit: {
      type: "object",
      properties: {
        name: TEXT,
        replaces: {
          type: "array",
          items: { type: "object", properties: { name: TEXT }, additionalProperties: false },
        },
        unit: TEXT,
        requests_per_unit: TEXT,
        unlimited: TEXT,
      },
      additionalProperties: false,
    },
    shadow_mode: TEXT,
    quota_mode: TEXT,
    detailed_metric: TEXT,
    value_to_metric: TEXT,
    share_threshold: TEXT,
    metadata: {},
    descriptors: { type: "array", items: { $ref: "#/$defs/descriptor" } },
  },
  additionalProperties: false,
};

/** The form of Envoy's files, with every scalar as text. */
export const envoySchema: Schema = {
  type: "object",
  properties: {
    domain: TEXT,
    descriptors: { type: "array", items: { $ref: "#/$defs/descriptor" } },
  },
  additionalProperties: false,
  $defs: { descriptor: DESCRIPTOR },
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

interface EnvoyDescriptor {
  readonly key?: string;
  readonly value?: string;
  readonly rate_limit?: EnvoyLimit;
  readonly shadow_mode?: string;
  readonly quota_mode?: string;
  readonly detailed_metric?: string;
  readonly share_threshold?: string;
  readonly descriptors?: readonly EnvoyDescriptor[];
}

/** Drops keys without a value, which Envoy takes for absent ones. */
export function withoutEmpty(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(withoutEmpty);
  if (typeof data !== "object" || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, value]) =>
      value === null || value === "" ? [] : [[key, withoutEmpty(value)]]
    ),
  );
}

/**
 * Turns Envoy's descriptors into rules.
 *
 * @param data A file that is of the schema.
 */
export function rulesOfEnvoy(
  data: { readonly domain?: string; readonly descriptors?: readonly EnvoyDescriptor[] },
): { readonly options: DomainOptions; readonly faults: readonly SchemaFault[] } {
  const faults: SchemaFault[] = [];
  const { domain = "", descriptors = [] } = data;
  if (domain === "") addFault([], "config file cannot have empty domain: domain is required");
  const rules = levelOf(descriptors, ["descriptors"]);
  return { options: { domain, charge: "each", changes: "keep", rules }, faults };

  function addFault(path: DataPath, message: string): void {
    faults.push({ path, message, atKey: false });
  }

  function levelOf(list: readonly EnvoyDescriptor[], path: DataPath): RuleOptions[] {
    const seen = new Set<string>();
    return list.map((descriptor, place) => {
      const { key = "", value } = descriptor;
      const here = [...path, place];
      if (key === "") addFault(here, "descriptor has an empty key: key is required");
      const composite = value === undefined ? key : `${key}_${value}`;
      if (seen.has(composite)) addFault(here, `duplicate descriptor composite key '${composite}'`);
      seen.add(composite);
      return ruleOf(descriptor, here);
    });
  }

  function ruleOf(descriptor: EnvoyDescriptor, path: DataPath): RuleOptions {
    const { key = "", value, rate_limit: limit, descriptors = [] } = descriptor;
    const share = truth(descriptor.share_threshold, [...path, "share_threshold"]);
    const isPattern = value?.includes("*") === true;
    if (share && !isPattern) {
      addFault([...path, "share_threshold"], "share_threshold needs a value with a '*'");
    }
    return {
      key,
      value,
      shadow: truth(descriptor.shadow_mode, [...path, "shadow_mode"]),
      quota: truth(descriptor.quota_mode, [...path, "quota_mode"]),
      detailed: truth(descriptor.detailed_metric, [...path, "detailed_metric"]),
      share: share && isPattern,
      ...(limit === undefined ? {} : verdictOf(limit, [...path, "rate_limit"])),
      rules: levelOf(descriptors, [...path, "descriptors"]),
    };
  }

  function verdictOf(limit: EnvoyLimit, path: DataPath): Partial<RuleOptions> {
    const named = { name: limit.name, replaces: replacedNames(limit, path) };
    if (!truth(limit.unlimited, [...path, "unlimited"])) {
      return { ...named, ...limitsOf(limit, path) };
    }
    if (limit.unit !== undefined) {
      const message = "should not specify rate limit unit when unlimited";
      addFault([...path, "unit"], message);
    }
    return { ...named, unlimited: true };
  }

  function replacedNames(
    { name: own, replaces = [] }: EnvoyLimit,
    path: DataPath,
  ): readonly string[] {
    return replaces.flatMap(({ name }, place) => {
      if (name !== undefined && name !== own) return [name];
      const message = name === undefined
        ? "should not have an empty replaces entry"
        : `replaces should not contain its own name '${name}'`;
      addFault([...path, "replaces", place], message);
      return [];
    });
  }

  function limitsOf(
    { unit, requests_per_unit: requests }: EnvoyLimit,
    path: DataPath,
  ): Partial<RuleOptions> {
    const period = periodOf(unit ?? "");
    if (period === undefined) {
      const known = Object.keys(ENVOY_UNITS).join(", ");
      const where = unit === undefined ? path : [...path, "unit"];
      addFault(where, `invalid rate limit unit '${unit ?? ""}': expected one of ${known}`);
    }
    const units = requests === undefined ? 0 : count(requests, [...path, "requests_per_unit"]);
    return units === 0 || period === undefined
      ? { blocked: true }
      : { limits: [windowOf(units, period)] };
  }

  function truth(text: string | undefined, path: DataPath): boolean {
    if (text === undefined || /^(n|no|false|off)$/i.test(text)) return false;
    if (!/^(y|yes|true|on)$/i.test(text)) {
      addFault(path, `expected true or false, not '${text}'`);
    }
    return true;
  }

  function count(text: string, path: DataPath): number {
    const value = /^0[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number(text);
    if (/^[0-9]/.test(text) && Number.isInteger(value) && value < 2 ** 32) return value;
    addFault(path, `expected an integer from 0 to 4294967295, not '${text}'`);
    return 0;
  }
}

/**
 * The limit that Envoy's configuration and protocol write as requests per unit: its one algorithm,
 * the fixed window at multiples of the unit. None at all are "blocked".
 *
 * @param unit One of `ENVOY_UNITS`, in any case.
 * @returns `undefined` if the unit is unknown.
 */
export function envoyLimit(
  requestsPerUnit: number,
  unit: string,
): LimitOptions | "blocked" | undefined {
  const period = periodOf(unit);
  if (period === undefined) return undefined;
  return requestsPerUnit === 0 ? "blocked" : windowOf(requestsPerUnit, period);
}

/** Envoy's one algorithm: the fixed window at multiples of its unit. */
function windowOf(limit: number, period: number): LimitOptions {
  return { algorithm: "fixedWindow", limit, period };
}

function periodOf(unit: string): number | undefined {
  const name = unit.toLowerCase();
  return Object.hasOwn(ENVOY_UNITS, name) ? ENVOY_UNITS[name] : undefined;
}
