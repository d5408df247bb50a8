import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { gcra, limiter } from "../../../../mod.ts";
import {
  claimsOfOthers,
  claimText,
  isClaimed,
  partClaims,
} from "../../../../stores/redis/commit/claims.ts";
import { withRedis } from "../../../support/redis/with_redis.ts";

describe("claims of a value", () => {
  const [near, far] = [claimText(100, "near"), claimText(90, "far")];

  test("bind the others, in the order in which they came, until their time is over", () => {
    assert.equal(isClaimed("", "own", 0), false);
    const both = near + far;
    const claimed = (owner: string) => [89, 90, 99, 100].map((now) => isClaimed(both, owner, now));
    assert.deepEqual(claimed("own"), [true, true, true, false]);
    assert.deepEqual(claimed("near"), [false, false, false, false]);
    assert.deepEqual(claimed("far"), [true, true, true, false]);
    assert.equal(isClaimed(far + near, "near", 89), true);
    assert.equal(isClaimed(far + near, "near", 90), false);
  });

  test("stay but for those of whoever has written, and those that are over", () => {
    assert.equal(claimsOfOthers("", "near", 0), "");
    assert.equal(claimsOfOthers(near + far, "near", 89), far);
    assert.equal(claimsOfOthers(near + far, "far", 89), near);
    assert.equal(claimsOfOthers(near + far, "own", 90), near);
    assert.equal(claimsOfOthers(near + far, "own", 100), "");
  });

  test("are parted from the text of its state, which may be none", () => {
    assert.deepEqual(partClaims(`t1 5${near}${far}`), { text: "t1 5", claims: near + far });
    assert.deepEqual(partClaims(near), { text: undefined, claims: near });
    for (const text of [undefined, "", "t1 5", "t1 5!", "t1 5 .x!"]) {
      assert.deepEqual(partClaims(text), { text, claims: "" });
    }
  });
});

withRedis("a key of Redis that another process has claimed", (_redis, { storeOf, clientOf }) => {
  for (const commit of ["watch", "cas"] as const) {
    test(`is written by ${commit} only once the claim is over`, async () => {
      const client = await clientOf();
      const now = async () => {
        const [seconds, micros] = await client.sendCommand<string[]>(["TIME"]);
        return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
      };
      const api = limiter(gcra({ limit: 9, period: "1h" }), {
        store: storeOf({ commit }),
        prefix: commit,
      });
      await api.consume("key");
      const [key] = await client.keys("*");
      const until = await now() + 150;
      await client.set(key!, `${await client.get(key!)}${claimText(until, "other")}`);
      assert.equal((await api.consume("key")).remaining, 7);
      assert.ok(await now() >= until);
      await client.flushAll();
    });
  }
});
