import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { tryAgain } from "../../../core/together/try_again.ts";
import { StoreUnavailableError } from "../../../mod.ts";

/** Longer than the first pause, and shorter than the first two. */
const AFTER_ONE = 1_000;

type Answer = { readonly source?: "policy" };

/** How often a call is made in a second whose first answer is this one. */
async function triesOf(isRepeatable: boolean, first: () => Answer): Promise<number> {
  let calls = 0;
  const call = () => ++calls === 1 ? first() : {};
  const decisionOf = (answer: Answer) => answer as never;
  try {
    await tryAgain({ call, decisionOf, isRepeatable });
  } catch {
    // The caller decides what the failure means.
  }
  await sleep(AFTER_ONE);
  return calls;
}

const out = (applied: "no" | "unknown") => () => {
  throw new StoreUnavailableError("Cannot decide", applied);
};
const byPolicy = (): Answer => ({ source: "policy" });

describe("tryAgain", () => {
  test("repeats what cannot have been applied, or may be applied twice", async () => {
    const cases: readonly [boolean, () => Answer, number][] = [
      [true, () => ({}), 1],
      [true, out("no"), 2],
      [true, out("unknown"), 2],
      [true, byPolicy, 2],
      [false, out("no"), 2],
      [false, out("unknown"), 1],
      [false, byPolicy, 1],
      [true, () => JSON.parse("{"), 1],
    ];
    const tries = await Promise.all(
      cases.map(([isRepeatable, first]) => triesOf(isRepeatable, first)),
    );
    assert.deepEqual(tries, cases.map(([, , expected]) => expected));
  });
});
