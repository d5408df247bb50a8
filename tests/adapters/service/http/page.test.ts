import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";

import { needs } from "../../../support/program.ts";
import { share } from "../../../support/seed.ts";
import { rootPath } from "../../../support/tree.ts";
import { post, withService } from "../support/running.ts";

interface Visit {
  readonly errors: readonly string[];
  readonly first: string;
  readonly looked: string;
  readonly taken: string;
  readonly malformed: string;
  readonly keys: string;
  readonly rules: string;
  readonly background: string;
  readonly unlabelled: number;
  /** What is wider than the window at 390 pixels. */
  readonly cutOff: readonly string[];
  /** How the keys of shadow rules are shown. */
  readonly shadowed: readonly string[];
}

/** What a person sees on the page, in light and in dark. */
function browse(url: string, token: string): Promise<Readonly<Record<"light" | "dark", Visit>>> {
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

/** Looks at the page while others call the service. */
function visit(): Promise<void> {
  return withService(async (service) => {
    const token = { "x-tidegate-token": "secret" };
    let calls = 0;
    const traffic = setInterval(() => {
      const user = ["42", "43", "admin", "mallory"][calls++ % 4]!;
      void post(service, "/v1/consume", { entries: { user } }, token).catch(() => {});
      if (calls % 3 === 0) {
        void post(service, "/v1/consume", { entries: { plan: "free" } }, token).catch(() => {});
      }
    }, 20);
    try {
      const { light, dark } = await browse(service.url, "secret");
      for (const seen of [light, dark]) {
        // The failed call of the form, and nothing else, is in the browser's log.
        assert.deepEqual(seen.errors.filter((error) => !/status of 400/.test(error)), []);
        assert.equal(seen.first, "To the form");
        assert.match(seen.looked, /^It would be refused\.\s+user=mallory: never admitted/);
        assert.match(seen.taken, /^It was admitted\.\s+per-user: \d left of a limit of 3/);
        assert.match(seen.malformed, /entries\[0\].value must be text of 1 to 1024 characters/);
        assert.match(seen.keys, /user=mallory/);
        assert.match(seen.rules, /per-user\s+shop/);
        assert.match(seen.rules, /in the shadow/);
        assert.equal(seen.unlabelled, 0);
        assert.deepEqual(seen.cutOff, []);
        assert.deepEqual(seen.shadowed, ["shadow"]);
      }
      assert.notEqual(light.background, dark.background);
    } finally {
      clearInterval(traffic);
    }
  }, { token: "secret" });
}

test(
  "the page shows the figures and tries keys, by keyboard, in light and in dark",
  needs("chromium"),
  // A browser sees the same page from each runtime: one of them in a run shows it.
  async () => {
    for (const look of share([visit])) await look();
  },
);
