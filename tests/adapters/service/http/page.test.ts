import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";

import { needs } from "../../../support/program.ts";
import { rootPath } from "../../../support/tree.ts";
import { objectSource } from "../../../../adapters/rules/rules.ts";
import { post, SHOP, withService } from "../support/running.ts";

const HOSTILE = '<img src=x onerror="throw 1">\u202ehostile';

/** The page as a person sees it, from `browse.mjs`. */
// deno-lint-ignore no-explicit-any
function browse(url: string, token: string): Promise<any> {
  const script = `${rootPath}tests/adapters/service/support/browse.mjs`;
  return new Promise((resolve, reject) => {
    execFile(
      `${rootPath}node_modules/.bin/node`,
      [script, url, token],
      { timeout: 100_000 },
      (error, stdout, stderr) => {
        if (error === null) resolve(JSON.parse(stdout));
        else reject(new Error(`${error.message}\n${stderr}`));
      },
    );
  });
}

test(
  "the page shows the figures and tries keys, by keyboard, in light and in dark",
  needs("chromium"),
  () =>
    withService(async (service) => {
      const token = { "x-tidegate-token": "secret" };
      let calls = 0;
      const traffic = setInterval(() => {
        const user = ["42", "43", "admin", "mallory", HOSTILE][calls++ % 5]!;
        void post(service, "/v1/consume", { entries: { user } }, token).catch(() => {});
        if (calls % 3 === 0) {
          void post(service, "/v1/consume", { entries: { plan: "free" } }, token).catch(() => {});
        }
      }, 20);
      try {
        const seen = await browse(service.url, "secret");
        // The failed call of the form, and nothing else, is in the browser's log.
        assert.deepEqual(seen.errors.filter((error: string) => !/status of 400/.test(error)), []);
        assert.equal(seen.first, "To the form");
        assert.match(seen.looked, /^It would be refused\.\s+user=mallory: never admitted/);
        assert.match(seen.taken, /^It was admitted\.\s+per-user: \d left of a limit of 3/);
        assert.equal(seen.blocks[0], "Blocked for 1h.");
        assert.match(seen.blocks[1], /^It would be refused\.\s+card: 0 left .+again in /);
        assert.equal(seen.blocks[2], "No longer blocked.");
        assert.match(seen.malformed, /entries\.\w+ must be text that is not empty/);
        assert.match(seen.keys, /user=mallory/);
        assert.equal(seen.filled, "user=mallory");
        assert.match(seen.minute, /^\d\d:\d\d: [\d,]+ admitted, [\d,]+ refused/);
        assert.match(seen.hostile, /^user=<img src%3Dx onerror%3D"throw 1">\\u202ehostile\s/);
        assert.match(seen.rules, /per-user\s+gcra 3 per hour/);
        assert.match(seen.rules, /plan\s*shadow/);
        assert.equal(seen.unlabelled, 0);
        assert.deepEqual(seen.cutOff, []);
        assert.match(seen.fill, /^\d+ of 1M keys\s+[\d.]+ k?B of [\d.]+ [MG]B$/);
        assert.deepEqual(seen.shadowed, ["shadow"]);
        assert.notEqual(seen.background, seen.dark);
      } finally {
        clearInterval(traffic);
      }
    }, {
      token: "secret",
      rules: objectSource({
        ...SHOP,
        rules: [...SHOP.rules, {
          key: "card",
          limits: [{ limit: 3, period: "1h", burst: 3, blockable: true }],
        }],
      }),
    }),
);
