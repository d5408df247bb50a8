import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { schedule } from "../../.ci/schedule.mjs";
import { fcOptions } from "../support/seed.ts";

/** Jobs by number. Each may have to come after an earlier one. */
const drawn = fc.array(fc.option(fc.nat(), { nil: undefined }), { maxLength: 12 });

test("every job runs once, after the one it needs, and no more at once than may be", () =>
  fc.assert(
    fc.asyncProperty(drawn, fc.integer({ min: 1, max: 4 }), async (needs, most) => {
      const ended: string[] = [];
      let running = 0;
      const jobs = needs.map((need, index) => {
        const after = need === undefined || index === 0 ? undefined : String(need % index);
        return {
          title: String(index),
          ...(after === undefined ? {} : { after }),
          async run() {
            assert.ok(++running <= most);
            assert.ok(after === undefined || ended.includes(after));
            await Promise.resolve();
            running--;
          },
        };
      });
      await schedule(jobs, most, {
        onStart() {},
        onEnd: ({ title }: { readonly title: string }) => void ended.push(title),
      });
      assert.deepEqual(ended.map(Number).sort((a, b) => a - b), needs.map((_, index) => index));
    }),
    fcOptions(),
  ));
