import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { ruleSchemaText } from "../../../../adapters/rules/rules.ts";
import { ruleSchema } from "../../../../adapters/rules/files/rule_schema.ts";
import { type Schema, schemaFaults } from "../../../../adapters/rules/files/check_schema.ts";
import { fcOptions } from "../../../support/seed.ts";

const root: Schema = JSON.parse(ruleSchemaText());

test("editors and the parser find the same files right", () => {
  let right = 0;
  fc.assert(
    fc.property(like(root, 3), (data) => {
      const isRight = fits(root, data);
      if (isRight) right++;
      const faults = schemaFaults(ruleSchema, data).map((
        { path, message },
      ) => [path.join(), message]);
      assert.equal(faults.length === 0, isRight, JSON.stringify([data, faults]));
    }),
    fcOptions({ numRuns: 2_000 }),
  );
  assert.ok(right > 0, "some of them are right");
});

/** Whether a value fits a schema, by the part of JSON Schema that the format uses. */
function fits(schema: Schema, value: unknown): boolean {
  if (schema.$ref !== undefined) {
    return fits(root.$defs![schema.$ref.replace("#/$defs/", "")]!, value);
  }
  if (schema.anyOf?.some((each) => fits(each, value)) === false) return false;
  if (schema.const !== undefined && value !== schema.const) return false;
  if (schema.enum !== undefined && !schema.enum.includes(value as string)) return false;
  switch (schema.type) {
    case "string":
      return typeof value === "string" && [...value].length >= (schema.minLength ?? 0) &&
        new RegExp(schema.pattern ?? "", "u").test(value);
    case "integer":
      return Number.isInteger(value) && (value as number) >= (schema.minimum ?? -Infinity) &&
        (value as number) <= (schema.maximum ?? Infinity);
    case "boolean":
      return typeof value === "boolean";
    case "array":
      return Array.isArray(value) && value.length >= (schema.minItems ?? 0) &&
        value.every((item) => fits(schema.items ?? {}, item));
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value) &&
        isRightMap(schema, value as Record<string, unknown>);
    default:
      return true;
  }
}

function isRightMap(schema: Schema, map: Readonly<Record<string, unknown>>): boolean {
  const { properties = {}, required = [], additionalProperties: more = true } = schema;
  return required.every((name) => Object.hasOwn(map, name)) &&
    Object.keys(map).length >= (schema.minProperties ?? 0) &&
    Object.entries(map).every(([name, value]) => {
      if (Object.hasOwn(properties, name)) return fits(properties[name]!, value);
      return typeof more === "boolean" ? more : fits(more, value);
    });
}

/** Data that is nearly of a schema. */
function like(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const stray = fc.constantFrom<unknown>("", "x", 0, 1.5, -1, 2 ** 53, true, null, [], {});
  const own = exactly(schema, depth);
  return fc.oneof({ weight: 24, arbitrary: own }, { weight: 1, arbitrary: stray });
}

function exactly(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) {
    return exactly(root.$defs![schema.$ref.replace("#/$defs/", "")]!, depth);
  }
  if (schema.anyOf !== undefined) {
    return fc.oneof(...schema.anyOf.map((each) => exactly(each, depth)));
  }
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case "string":
      return fc.constantFrom("a", "10s", "/a", "GET", "*");
    case "integer":
      return fc.integer({ min: schema.minimum ?? -9, max: 99 });
    case "boolean":
      return fc.boolean();
    case "array":
      if (depth === 0) return fc.constant([]);
      return fc.array(like(schema.items ?? {}, depth - 1), { maxLength: 2 });
    default:
      return mapLike(schema, depth);
  }
}

function mapLike(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const { properties = {}, required = [] } = schema;
  const known = Object.entries(properties).map(([name, property]) => {
    const present = required.includes(name) ? 24 : 8;
    return fc.oneof(
      { weight: present, arbitrary: like(property, depth).map((value) => [[name, value]]) },
      { weight: required.includes(name) ? 1 : 12, arbitrary: fc.constant([]) },
    );
  });
  const more = fc.oneof(
    { weight: 12, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.constantFrom([["other", "x"]], [["toString", "x"]]) },
  );
  return fc.tuple(...known, more).map((entries) => Object.fromEntries(entries.flat()));
}
