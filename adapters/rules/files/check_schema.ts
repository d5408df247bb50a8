/*
 * The formats are written down once, as JSON Schema. Editors read it as it is, and `schemaFaults` reads
 * the same definition to check a file, with messages that say what was expected where.
 *
 * Only the part of JSON Schema that the formats need is understood. Among several alternatives the
 * value itself chooses one, by its type or by a constant such as `algorithm: gcra`. So a message is
 * about the intended alternative, and not about all possible ones.
 *
 * Source: JSON Schema, draft 2020-12.
 */

import { formatValue } from "../../../core/options/checks.ts";
import type { DataPath } from "./rule_problem.ts";

/** The part of JSON Schema that is understood. */
export interface Schema {
  readonly description?: string;
  readonly type?: "string" | "integer" | "boolean" | "array" | "object";
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly default?: string | number | boolean;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly minProperties?: number;
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

/** A place in the data that does not match the schema. */
export interface SchemaFault {
  readonly path: DataPath;
  readonly message: string;
  /** Whether the fault is about the key, and not its value. */
  readonly atKey: boolean;
}

/** All faults of the data under the schema, in the order of the data. */
export function schemaFaults(root: Schema, data: unknown): readonly SchemaFault[] {
  const faults: SchemaFault[] = [];
  check(root, data, []);
  return faults;

  function check(written: Schema, value: unknown, path: DataPath): void {
    const schema = chosenOf(written, value);
    const expected = expectation(schema, value);
    if (expected !== undefined) {
      addFault(path, `${expected}, not ${formatValue(value)}`);
    } else if (Array.isArray(value)) {
      const { items } = schema;
      if (items !== undefined) value.forEach((item, index) => check(items, item, [...path, index]));
    } else if (typeof value === "object" && value !== null) {
      checkProperties(schema, value as Readonly<Record<string, unknown>>, path);
    }
  }

  function checkProperties(
    { properties = {}, required = [], additionalProperties = true }: Schema,
    value: Readonly<Record<string, unknown>>,
    path: DataPath,
  ): void {
    for (const name of required) {
      if (!has(value, name)) addFault(path, `${name} is required here`);
    }
    for (const [name, item] of Object.entries(value)) {
      if (item === undefined) continue;
      const place = [...path, name];
      if (Object.hasOwn(properties, name)) check(properties[name]!, item, place);
      else if (additionalProperties === false) {
        const known = Object.keys(properties).join(", ");
        addFault(place, `unknown key ${formatValue(name)}: expected one of ${known}`, true);
      } else if (additionalProperties !== true) check(additionalProperties, item, place);
    }
  }

  function addFault(path: DataPath, message: string, atKey = false): void {
    faults.push({ path, message, atKey });
  }

  /** The schema that a reference stands for, and of several alternatives the one that the value chooses. */
  function chosenOf(schema: Schema, value: unknown): Schema {
    const { $ref, anyOf } = schema;
    if ($ref !== undefined) return chosenOf(root.$defs![$ref.replace("#/$defs/", "")]!, value);
    if (anyOf === undefined) return schema;
    const all = anyOf.map((each) => chosenOf(each, value));
    const ofType = all.filter((each) => isOfType(each, value));
    const fitting = ofType.filter((each) => constantsFit(each, value));
    const meant =
      fitting.find(({ required = [] }) => required.every((name) => has(value as object, name))) ??
        fitting[0];
    if (meant !== undefined) return meant;
    return ofType.length > 0
      ? constantsOf(ofType)
      : { ...schema, description: all.map(nameOf).join(" or ") };
  }
}

/**
 * The constants by which several kinds of maps differ. The value must have one of these constants.
 */
function constantsOf(kinds: readonly Schema[]): Schema {
  const names = new Set(kinds.flatMap(({ properties = {} }) => Object.keys(properties)));
  const properties = [...names].flatMap((name) => {
    const constants = kinds.flatMap((kind) => kind.properties?.[name]?.const ?? []);
    return constants.length === 0
      ? []
      : [[name, { type: "string", enum: constants } satisfies Schema]];
  });
  return { type: "object", properties: Object.fromEntries(properties) };
}

function constantsFit({ properties = {}, required = [] }: Schema, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(properties).every(([name, { const: constant }]) => {
    if (constant === undefined) return true;
    if (!has(value, name)) return !required.includes(name);
    return (value as Record<string, unknown>)[name] === constant;
  });
}

/** An absent option may be there as `undefined` in an object made by code. */
function has(value: object, name: string): boolean {
  return Object.hasOwn(value, name) && (value as Record<string, unknown>)[name] !== undefined;
}

function isOfType({ type }: Schema, value: unknown): boolean {
  return type === undefined || TYPES[type][1](value);
}

/** The text of what was expected, if the value itself is wrong; otherwise `undefined`. */
function expectation(schema: Schema, value: unknown): string | undefined {
  if (schema.anyOf !== undefined) return `expected ${schema.description}`;
  if (!isOfType(schema, value)) {
    const hint = schema.type === "string" && (typeof value === "number" || value === true)
      ? " (put it in quotes)"
      : "";
    return `expected ${nameOf(schema)}${hint}`;
  }
  const { enum: values, const: constant, minItems = 0, minProperties = 0 } = schema;
  if (constant !== undefined && value !== constant) return `expected ${formatValue(constant)}`;
  if (values !== undefined && !values.includes(value as string)) {
    return `expected one of ${values.join(", ")}`;
  }
  if (typeof value === "string") return textExpectation(schema, value);
  if (typeof value === "number") return numberExpectation(schema, value);
  if (Array.isArray(value) && value.length < minItems) return `expected at least ${minItems} item`;
  return minProperties > 0 && Object.keys(value as object).length < minProperties
    ? `expected at least ${minProperties} entry`
    : undefined;
}

function textExpectation(
  { minLength = 0, pattern, description = `text of the form ${pattern}` }: Schema,
  value: string,
): string | undefined {
  if (value.length < minLength) return "expected text that is not empty";
  return pattern === undefined || new RegExp(pattern).test(value)
    ? undefined
    : `expected ${description}`;
}

function numberExpectation(
  { minimum = -Infinity, maximum = Infinity }: Schema,
  value: number,
): string | undefined {
  if (Number.isSafeInteger(value) && value >= minimum && value <= maximum) return undefined;
  if (maximum < Number.MAX_SAFE_INTEGER) return `expected an integer from ${minimum} to ${maximum}`;
  return minimum <= Number.MIN_SAFE_INTEGER
    ? "expected an integer"
    : `expected an integer of at least ${minimum}`;
}

/** The names of the types in messages, and which values are of them. */
const TYPES: Readonly<
  Record<NonNullable<Schema["type"]>, readonly [name: string, fits: (value: unknown) => boolean]>
> = {
  string: ["text", (value) => typeof value === "string"],
  integer: ["an integer", (value) => typeof value === "number"],
  boolean: ["true or false", (value) => typeof value === "boolean"],
  array: ["a list", Array.isArray],
  object: [
    "a map",
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  ],
};

function nameOf({ type }: Schema): string {
  return type === undefined ? "something else" : TYPES[type][0];
}
