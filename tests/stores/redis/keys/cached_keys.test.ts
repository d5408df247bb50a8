import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { cachedKeys } from "../../../../stores/redis/keys/cached_keys.ts";

/** A namer that counts how often it is called. */
function counted() {
  const calls = { times: 0 };
  const name = cachedKeys()((key) => {
    calls.times++;
    return `api:{${key}}`;
  });
  return { calls, name };
}

describe("stored keys that are remembered", () => {
  test("are made once", () => {
    const { calls, name } = counted();
    for (const key of ["a", "b", "a", "b", "a"]) assert.equal(name(key), `api:{${key}}`);
    assert.equal(calls.times, 2);
  });

  test("are not held of keys over 1,024 characters", () => {
    const { calls, name } = counted();
    const long = "k".repeat(1_025);
    for (let calls = 0; calls < 3; calls++) assert.equal(name(long), `api:{${long}}`);
    assert.equal(calls.times, 3);
  });

  test("are bounded in number and in text", () => {
    for (const [keys, length] of [[20_001, 1], [2_000, 1_000]] as const) {
      const { calls, name } = counted();
      const nth = (index: number) => String(index).padStart(length, "k");
      for (let index = 0; index < keys; index++) name(nth(index));
      name(nth(keys - 1));
      assert.equal(calls.times, keys, "the newest is remembered");
      name(nth(0));
      assert.equal(calls.times, keys + 1, "the oldest is not");
    }
  });

  test("are bounded for all limiters of a store together", () => {
    const share = cachedKeys();
    let times = 0;
    const name = () =>
      share((key) => {
        times++;
        return `api:{${key}}`;
      });
    const first = name();
    first("a");
    for (let limiters = 0; limiters < 20; limiters++) {
      const own = name();
      for (let key = 0; key < 1_500; key++) own(`key ${key}`);
    }
    times = 0;
    first("a");
    assert.equal(times, 1, "what the first limiter used long ago is forgotten");
  });
});
