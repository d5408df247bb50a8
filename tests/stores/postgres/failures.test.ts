import assert from "node:assert/strict";
import { test } from "node:test";

import { postgresFailure } from "../../../stores/postgres/failures.ts";

const NAMES = { table: "limits", commit: "limits_commit", place: "public" };

const FAILURES: readonly (readonly [thrown: object, meaning: readonly unknown[], rule: RegExp])[] =
  [
    [{ code: "40001" }, ["no", true, "server"], /reachable/],
    [{ code: "40P01" }, ["no", true, "server"], /reachable/],
    [{ code: "57P01" }, ["no", false, "connection"], /reachable/],
    [{ code: "57P02" }, ["unknown", false, "server"], /reachable/],
    [{ code: "57P03" }, ["no", false, "server"], /reachable/],
    [{ errno: "42P01", code: "ERR_POSTGRES_SERVER_ERROR" }, ["no", false, "server"], /migrate\(\)/],
    [{ code: "42501" }, ["no", false, "server"], /^grant .* on limits/],
    [{ code: "25006" }, ["no", false, "server"], /takes writes/],
    [{ code: "53100" }, ["no", false, "server"], /have room/],
    [{ code: "22P02" }, ["no", false, "call"], /accept the statement/],
    [{ code: "ECONNREFUSED" }, ["no", false, "server"], /reachable/],
    [{ cause: { code: "ENOTFOUND" } }, ["no", false, "server"], /reachable/],
    [{ message: "timeout exceeded when trying to connect" }, ["no", false, "server"], /reachable/],
    [{ message: "the client is not queryable" }, ["no", false, "connection"], /reachable/],
    [{ code: "ECONNRESET" }, ["unknown", false, "server"], /reachable/],
  ];

for (const [thrown, meaning, rule] of FAILURES) {
  test(`${JSON.stringify(thrown)} of Postgres or its client: ${meaning.join(", ")}`, () => {
    const failure = postgresFailure(thrown, NAMES);
    assert.deepEqual([failure.applied, failure.retry, failure.scope], meaning);
    assert.match(failure.rule, rule);
    assert.equal(failure.cause, thrown);
  });
}
