/*
 * The format of rule files as JSON Schema: editors use it for completion, and files are checked
 * against it.
 */

import type { OptionData, OptionKind } from "../../../core/options/options_data.ts";
import { ALGORITHM_NAMES, type AlgorithmName, ALGORITHMS } from "../../../core/rules/rules.ts";
import type { Schema } from "./check_schema.ts";

/** The largest number that floats hold exactly. */
const MOST = Number.MAX_SAFE_INTEGER;

function text(description: string, more: Schema = {}): Schema {
  return { description, type: "string", minLength: 1, ...more };
}

function choice(description: string, values: readonly string[], more: Schema = {}): Schema {
  return { description, type: "string", enum: values, ...more };
}

function truth(description: string): Schema {
  return { description, type: "boolean" };
}

function integer(description: string, minimum: number, maximum: number = MOST): Schema {
  return { description, type: "integer", minimum, maximum };
}

/** A list of at least one item, unless it may be empty. */
function list(description: string, items: Schema, atLeast: Schema = { minItems: 1 }): Schema {
  return { description, type: "array", ...atLeast, items };
}

/** A map of these properties and no others. */
function map(properties: NonNullable<Schema["properties"]>, ...required: string[]): Schema {
  return { type: "object", properties, required, additionalProperties: false };
}

const PERIOD: Schema = {
  anyOf: [
    { type: "integer", minimum: 1, maximum: 2 ** 42 },
    {
      type: "string",
      pattern: "^[0-9]{1,15}(ms|s|m|h|d)$",
      description: 'a period such as "500ms", "10s", "1m", "1h", "1d"',
    },
  ],
};

/** The algorithms of limits that name none: without `burst`, and with it. */
const UNNAMED: readonly AlgorithmName[] = ["slidingCounter", "gcra"];

function limitSchema(algorithm: AlgorithmName): Schema {
  const options: readonly [string, OptionData][] = Object.entries(ALGORITHMS[algorithm].options);
  const required = options.filter(([, option]) =>
    option.default === undefined && option.isOptional !== true
  );
  const own: Schema = {
    description: "Which algorithm decides; slidingCounter unless given, with burst gcra.",
    type: "string",
    const: algorithm,
  };
  const properties = {
    algorithm: own,
    ...Object.fromEntries(options.map(([name, option]) => [name, optionSchema(option)])),
    blockable: truth("Its keys can be blocked by hand; not unless given."),
    ...(algorithm !== "concurrency" && {
      reservable: truth("Its calls can be settled later, by receipts; not unless given."),
      within: { description: "How long a receipt can be settled; 10m unless given.", ...PERIOD },
    }),
  };
  const named = UNNAMED.includes(algorithm) ? [] : ["algorithm"];
  return map(properties, ...named, ...required.map(([name]) => name));
}

function optionSchema({ about, default: value, ...kind }: OptionData): Schema {
  return {
    description: about,
    ...kindSchema(kind),
    ...(value !== undefined && { default: value }),
  };
}

function kindSchema(kind: OptionKind): Schema {
  switch (kind.kind) {
    case "integer":
      return { type: "integer", minimum: kind.least ?? -MOST, maximum: kind.most ?? MOST };
    case "period":
      return PERIOD;
    case "text":
      return { type: "string", minLength: 1, ...(kind.pattern && { pattern: kind.pattern }) };
    case "choice":
      return { type: "string", enum: kind.choices };
    case "list":
      return { type: "array", minItems: 1, items: kindSchema(kind.items) };
    case "either":
      // An option of several kinds is of each of their forms.
      return { anyOf: kind.kinds.flatMap((each) => kindSchema(each).anyOf ?? kindSchema(each)) };
  }
}

const LIMIT: Schema = {
  description: "A limit: an algorithm and its options.",
  anyOf: ALGORITHM_NAMES.map(limitSchema),
};

const RULE = map({
  key: text("The key of a descriptor's entry."),
  value: text("The entry's value; * stands for any text. Without one every value matches."),
  name: text("What answers and metrics call the rule."),
  limits: list("The limits; all of them must admit.", { $ref: "#/$defs/limit" }),
  unlimited: truth("Admits everything, and counts nothing."),
  blocked: truth("Refuses everything."),
  shadow: truth("Decides and reports, and never refuses."),
  quota: truth("Refuses only when every such rule of the request does."),
  detailed: truth("Metrics count each of its values by itself, up to 1,000 of all rules."),
  share: truth("Everything that the pattern in value matches shares one counter."),
  replaces: list("The names of rules that do not apply where this one does.", {
    type: "string",
    minLength: 1,
  }),
  lookup: choice(
    "Each key may have limits of its own in the source: until they are known the rule's own ones decide (default), or the call waits (wait).",
    ["default", "wait"],
  ),
  rules: list("Rules for the entry that follows.", { $ref: "#/$defs/rule" }, {}),
}, "key");

const ROUTE = map({
  path: text("A URL pattern for the path: /v1/users/:id, /static/*. Without one any path.", {
    pattern: "^[/*]",
  }),
  ignoreCase: truth("Whether the path is in any case; no unless given."),
  methods: list(
    "The HTTP methods; without them any method. HEAD counts as GET, unless named.",
    { description: "an HTTP method in capitals", type: "string", pattern: "^[A-Z]{1,20}$" },
  ),
  cost: integer("Units that a request takes; 1 unless given.", 0),
  descriptors: list(
    "What to ask for: maps of key to value in which {address}, {method}, {path}, {path.name} and {header.name} stand for the request's own.",
    {
      type: "object",
      minProperties: 1,
      additionalProperties: { type: "string", minLength: 1 },
    },
  ),
}, "descriptors");

/** The format of tidegate's rule files, as JSON Schema; editors and `lint` use the same schema. */
export const ruleSchema: Schema = {
  description: "Rules of tidegate: which limits hold for what.",
  ...map(
    {
      domain: text("The name that requests ask for."),
      charge: choice(
        "Whether a request is charged to all of its rules or to none (together), or to each by itself (each).",
        ["together", "each"],
        { default: "together" },
      ),
      changes: choice(
        "What a changed rate, period or algorithm does with what a key had used: carries it over (keep), or its share of the capacity (proportional), or forgets it (reset).",
        ["keep", "proportional", "reset"],
        { default: "keep" },
      ),
      rules: list("The rules for the first entry of a descriptor.", { $ref: "#/$defs/rule" }, {}),
      routes: list(
        "What HTTP requests ask for, by path and method; all that match count.",
        { $ref: "#/$defs/route" },
        {},
      ),
      ipv6Prefix: integer(
        "Bits of a client's IPv6 address that count in routes; the service's unless given.",
        32,
        128,
      ),
    },
    "domain",
    "rules",
  ),
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
