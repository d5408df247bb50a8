import assert from "node:assert/strict";
import { test } from "node:test";

import type { Service } from "../../../../adapters/service/service.ts";
import { get, oneRule, post, withService } from "../support/running.ts";

test("hits near the limit and over it are counted in units, as Envoy's service does", () =>
  withService(async (service) => {
    // With a limit of 10, the ninth and the tenth unit are near it.
    const steps: readonly [cost: number, more: object, near: number, over: number][] = [
      [0, {}, 0, 0],
      [7, {}, 0, 0],
      [2, {}, 1, 0],
      [1, {}, 2, 0],
      [4, {}, 2, 4],
      [3, { charge: true }, 2, 7],
    ];
    for (const [cost, more, near, over] of steps) {
      await post(service, "/v1/consume", { entries: { user: "42" }, cost, ...more });
      assert.deepEqual(await counted(service), [near, over], `after a cost of ${cost}`);
    }
    // One call that crosses both thresholds.
    await post(service, "/v1/consume", { entries: { user: "43" }, cost: 15, charge: true });
    assert.deepEqual(await counted(service), [4, 12]);
  }, { rules: oneRule("user", 10) }));

test("hits that a shadow would refuse are over its limit too", () =>
  withService(async (service) => {
    await post(service, "/v1/consume", { entries: { user: "42" }, cost: 4 });
    assert.deepEqual(await counted(service), [0, 4]);
  }, { rules: oneRule("user", 3, undefined, { shadow: true }) }));

/** The figures of units near the limit and over it. */
async function counted(service: Service): Promise<readonly number[]> {
  const { body } = await get(service, "/metrics");
  return ["near", "over"].map((where) => {
    const line = new RegExp(
      `^tidegate_${where}_limit_total\\{domain="shop",rule="user"\\} (\\d+)$`,
      "m",
    );
    const [, count] = line.exec(body) ?? assert.fail(`no ${where} in\n${body}`);
    return Number(count);
  });
}
