import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { gcra, limiter } from "../../../../mod.ts";
import { emptyCell } from "../../../../stores/stepping/cell.ts";
import type { Job } from "../../../../stores/optimistic/job.ts";
import {
  claimsOfOthers,
  claimText,
  contendedKeys,
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

describe("a call claims its key", () => {
  const timeout = 60_000;

  /** Whether a call that came that many milliseconds ago claims its key. */
  function claims(races: number, waited: number, contended = contendedKeys(() => 0, timeout)) {
    const turn = { end: performance.now() - waited };
    return contended.mustClaim({ turn, races, cell: emptyCell("a", 0) } as Job);
  }

  test("after eight lost races, or two and half of its time", () => {
    assert.deepEqual([claims(7, 1_000), claims(8, 1_000)], [false, true]);
    assert.deepEqual([claims(1, 50_000), claims(2, 50_000)], [false, true]);
    assert.equal(claims(8, -1_000), false);
  });

  test("at once where a store far away has claimed it before", () => {
    const [near, far] = [0, 2].map((roundTrip) => contendedKeys(() => roundTrip, timeout));
    for (const contended of [near, far]) assert.equal(claims(8, 1_000, contended), true);
    assert.deepEqual([claims(0, 0, near), claims(0, 0, far)], [false, true]);
    const later = Array.from({ length: 20 }, () => claims(0, 0, far));
    assert.equal(later.filter(Boolean).length, 15);
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
      const api = limiter(gcra({ limit: 9, period: "1h", burst: 9 }), {
        store: storeOf({ commit }),
        prefix: commit,
      });
      await api.consume("key");
      const [key] = await client.keys("*");
      // So long that more than 256 tries yield to it.
      const until = await now() + 600;
      await client.set(key!, `${await client.get(key!)}${claimText(until, "other")}`);
      assert.equal((await api.consume("key")).remaining, 7);
      assert.ok(await now() >= until);
      await client.flushAll();
    });
  }
});
