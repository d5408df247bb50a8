/*
 * The format of rule files as JSON Schema: what editors complete by, and what files are checked
 * against.
 */

import { ALGORITHM_NAMES, type AlgorithmName } from "../../../core/rules/rules.ts";
import type { Schema } from "./check_schema.ts";

const PERIOD: Schema = {
  description: 'a period: whole milliseconds, or text such as "500ms", "10s", "1m", "1h", "1d"',
  anyOf: [
    { type: "integer", minimum: 1, maximum: 2 ** 42 },
    {
      type: "string",
      pattern: "^[0-9]{1,15}(ms|s|m|h|d)$",
      description: 'a period such as "500ms", "10s", "1m", "1h", "1d"',
    },
  ],
};

/** The largest number that floats hold exactly. */
const MOST = Number.MAX_SAFE_INTEGER;

const BURST: Schema = {
  description: "Units that a fresh key admits at once; by default the limit.",
  type: "integer",
  minimum: 1,
  maximum: MOST,
};

/** The options of each algorithm beside limit, period and name. */
const OPTIONS: Readonly<Record<AlgorithmName, Readonly<Record<string, Schema>>>> = {
  gcra: { burst: BURST },
  fixedWindow: {
    anchor: {
      description:
        "Where windows lie: at multiples of the period (epoch), shifted by milliseconds, or opened by the first call.",
      anyOf: [{ type: "string", enum: ["epoch", "first"] }, {
        type: "integer",
        minimum: -MOST,
        maximum: MOST,
      }],
    },
  },
  slidingLog: {},
  slidingCounter: {},
  slidingWindow: { precision: PERIOD },
  tokenBucket: {
    burst: BURST,
    refill: { description: "How tokens come.", type: "string", enum: ["greedy", "interval"] },
  },
  leakyBucket: { burst: BURST },
  leakyQueue: {
    queue: { description: "How many calls may wait.", type: "integer", minimum: 0, maximum: MOST },
  },
  lockout: { lock: PERIOD },
};

const ALSO_REQUIRED: Readonly<Partial<Record<AlgorithmName, readonly string[]>>> = {
  slidingWindow: ["precision"],
  leakyQueue: ["queue"],
  lockout: ["lock"],
};

/** The options of every algorithm. */
const COMMON: Readonly<Record<string, Schema>> = {
  limit: {
    description: "Units admitted per period in the long run.",
    type: "integer",
    minimum: 1,
    maximum: MOST,
  },
  period: PERIOD,
  name: {
    description: "What headers call the limit, in printable ASCII.",
    type: "string",
    minLength: 1,
    pattern: "^[ -~]+$",
  },
};

function limitSchema(algorithm: AlgorithmName): Schema {
  const own: Schema = {
    description: "Which algorithm decides; gcra unless given.",
    type: "string",
    const: algorithm,
  };
  const named = algorithm === "gcra" ? [] : ["algorithm"];
  return {
    type: "object",
    properties: { algorithm: own, ...COMMON, ...OPTIONS[algorithm] },
    required: [...named, "limit", "period", ...(ALSO_REQUIRED[algorithm] ?? [])],
    additionalProperties: false,
  };
}

const LIMIT: Schema = {
  description: "A limit: an algorithm and its options.",
  anyOf: ALGORITHM_NAMES.map(limitSchema),
};

const RULE: Schema = {
  type: "object",
  properties: {
    key: { description: "The key of a descriptor's entry.", type: "string", minLength: 1 },
    value: {
      description: "The entry's value; * stands for any text. Without one every value matches.",
      type: "string",
      minLength: 1,
    },
    name: { description: "What answers and metrics call the rule.", type: "string", minLength: 1 },
    limits: {
      description: "The limits; all of them must admit.",
      type: "array",
      minItems: 1,
      items: { $ref: "#/$defs/limit" },
    },
    unlimited: { description: "Admits everything, and counts nothing.", type: "boolean" },
    blocked: { description: "Refuses everything.", type: "boolean" },
    shadow: { description: "Decides and reports, and never refuses.", type: "boolean" },
    quota: {
      description: "Refuses only when every such rule of the request does.",
      type: "boolean",
    },
    detailed: {
      description: "Metrics count each of its values by itself, up to 1,000 of all rules.",
      type: "boolean",
    },
    share: {
      description: "Everything that the pattern in value matches shares one counter.",
      type: "boolean",
    },
    replaces: {
      description: "The names of rules that do not apply where this one does.",
      type: "array",
      minItems: 1,
      items: { type: "string", minLength: 1 },
    },
    lookup: {
      description:
        "Each key may have limits of its own in the source: until they are known the rule's own ones decide (default), or the call waits (wait).",
      type: "string",
      enum: ["default", "wait"],
    },
    rules: {
      description: "Rules for the entry that follows.",
      type: "array",
      items: { $ref: "#/$defs/rule" },
    },
  },
  required: ["key"],
  additionalProperties: false,
};

const ROUTE: Schema = {
  type: "object",
  properties: {
    path: {
      description: "A URL pattern for the path: /v1/users/:id, /static/*. Without one any path.",
      type: "string",
      pattern: "^[/*]",
    },
    ignoreCase: {
      description: "Whether the path is in any case; no unless given.",
      type: "boolean",
    },
    methods: {
      description: "The HTTP methods; without them any method. HEAD counts as GET, unless named.",
      type: "array",
      minItems: 1,
      items: {
        description: "an HTTP method in capitals",
        type: "string",
        pattern: "^[A-Z]{1,20}$",
      },
    },
    cost: {
      description: "Units that a request takes; 1 unless given.",
      type: "integer",
      minimum: 0,
      maximum: MOST,
    },
    descriptors: {
      description:
        "What to ask for: maps of key to value in which {address}, {method}, {path}, {path.name} and {header.name} stand for the request's own.",
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        minProperties: 1,
        additionalProperties: { type: "string", minLength: 1 },
      },
    },
  },
  required: ["descriptors"],
  additionalProperties: false,
};

/** The format of tidegate's rule files, as JSON Schema; editors and `lint` read the same one. */
export const ruleSchema: Schema = {
  description: "Rules of tidegate: which limits hold for what.",
  type: "object",
  properties: {
    domain: {
      description: "The name that requests ask for.",
      type: "string",
      minLength: 1,
    },
    charge: {
      description:
        "Whether a request is charged to all of its rules or to none (together), or to each by itself (each).",
      type: "string",
      enum: ["together", "each"],
      default: "together",
    },
    changes: {
      description:
        "What a changed limit does with what a key had used: carries it over (keep), or its share of the capacity (proportional), or forgets it (reset).",
      type: "string",
      enum: ["keep", "proportional", "reset"],
      default: "keep",
    },
    rules: {
      description: "The rules for the first entry of a descriptor.",
      type: "array",
      items: { $ref: "#/$defs/rule" },
    },
    routes: {
      description: "What HTTP requests ask for, by path and method; all that match count.",
      type: "array",
      items: { $ref: "#/$defs/route" },
    },
    ipv6Prefix: {
      description:
        "Bits of a client's IPv6 address that count in routes; the service's unless given.",
      type: "integer",
      minimum: 32,
      maximum: 128,
    },
  },
  required: ["domain", "rules"],
  additionalProperties: false,
  $defs: { limit: LIMIT, rule: RULE, route: ROUTE },
};

/**
 * The schema as a file for editors.
 *
 * @example
 * ```ts
 * import { ruleSchemaText } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * assert.equal(JSON.parse(ruleSchemaText()).title, "tidegate rules");
 * ```
 */
export function ruleSchemaText(): string {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", title: "tidegate rules" };
  return `${JSON.stringify({ ...head, ...ruleSchema }, null, 2)}\n`;
}
