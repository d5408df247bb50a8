import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";

import {
  adviceJson,
  adviceText,
  advise,
  readTrace,
  replay,
  replayJson,
  replayPage,
  replayTable,
} from "../../../../adapters/replay/replay.ts";
import { type Algorithm, fixedWindow, gcra } from "../../../../mod.ts";
import { inFolder } from "../../../support/in_folder.ts";
import { needs } from "../../../support/program.ts";
import { fcOptions } from "../../../support/seed.ts";
import { rootPath } from "../../../support/tree.ts";

const families: { name: string; make: (limit: number) => Algorithm }[] = [
  { name: "fixed", make: (limit) => fixedWindow({ limit, period: "10s" }) },
  { name: "gcra", make: (limit) => gcra({ limit, period: "10s", burst: limit }) },
];

function logOf(keys: readonly string[]) {
  return keys.flatMap((key, index) =>
    [0, 1, 2].map((second) => ({ at: index * 100 + second * 1_000, key, cost: 1 }))
  ).sort((a, b) => a.at - b.at);
}

function reportOf(keys: readonly string[]) {
  const candidates = families.map(({ name, make }) => ({ name, algorithm: make(2), make }));
  return replay(logOf(keys), candidates);
}

test("a promise of a report is refused, in each form of output", async () => {
  const log = logOf(["a", "b"]);
  const pending = replay(log, families.map(({ name, make }) => ({ name, algorithm: make(2) })));
  const rule = "must be what replay resolves to: current value is a promise";
  for (const show of [replayTable, replayJson, replayPage]) {
    assert.throws(() => show(pending as never), {
      name: "TypeError",
      message: `Cannot ${show === replayPage ? "write a page" : "show a report"} as it ${rule}`,
    });
  }
  const report = await pending;
  const advice = advise(log);
  const error = {
    name: "TypeError",
    message: "Cannot show advice as it must be what advise resolves to: current value is a promise",
  };
  for (const show of [adviceText, adviceJson]) {
    assert.throws(() => show(advice as never), error);
  }
  assert.throws(() => replayPage(report, { advice: advice as never }), error);
  await advice;
});

describe("replayTable", () => {
  test("shows the figures, to the letter", async () => {
    const report = await reportOf(["a", "b"]);
    assert.equal(
      replayTable(report),
      [
        "6 requests, 2 clients in 2.1 s",
        "",
        "With fixed, 2 of 2 clients would have been refused, 33.3 % of calls; " +
        "the smallest limit that refuses nobody is 3.",
        "With gcra, 2 of 2 clients would have been refused, 33.3 % of calls; " +
        "the smallest limit that refuses nobody is 3.",
        "",
        "candidate  refused     %  clients hit  longest lock-out  delayed",
        "fixed            2  33.3            2               8 s        -",
        "gcra             2  33.3            2               3 s        -",
        "",
        "fixed: hit hardest",
        "client  refused  of  longest lock-out",
        "a             1   3               8 s",
        "b             1   3             7.9 s",
        "",
        "gcra: hit hardest",
        "client  refused  of  longest lock-out",
        "a             1   3               3 s",
        "b             1   3               3 s",
      ].join("\n"),
    );
  });
});

test("replayTable commands no terminal", async () => {
  const report = await reportOf(["\u001b[2Jgone", "\u009b2Jgone", "a\nb\r", "x".repeat(200)]);
  const text = replayTable(report);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  assert.ok(text.split("\n").every((line) => line.length < 120));
});

describe("replayPage", () => {
  test("stands alone: no script, and no address of anything else", async () => {
    const report = await reportOf(["a"]);
    const page = replayPage(report, { title: "Yesterday" });
    assert.match(page, /^<!doctype html>/);
    const addresses = page.match(/https?:[^"'\s]*/g) ?? [];
    assert.deepEqual([...new Set(addresses)], ["http://www.w3.org/2000/svg"]);
    assert.doesNotMatch(page, /<script|<link|<img|<iframe|\bsrc=|\bhref=|@import|url\(|\bon\w+=/i);
    assert.match(page, /prefers-color-scheme/);
    // Over time, the clients of each candidate; each for wide screens and for narrow ones.
    assert.equal(page.match(/<svg /g)?.length, 6);
    // A title stands over its table, and not over the plot before it.
    assert.match(
      page,
      /<h3>fixed: hit hardest<\/h3>\n<figure[^]*?<\/figure>\n<div class="wide"><table>/,
    );
  });

  test("shows only clients that were refused, and candidates with the same ones together", async () => {
    const { make } = families[0]!;
    const candidates = [2, 2, 3].map((limit, index) => ({
      name: `c${index}`,
      algorithm: make(limit),
    }));
    const page = replayPage(await replay(logOf(["a", "b"]), candidates));
    assert.deepEqual(page.match(/<h3>.*?<\/h3>/g), ["<h3>c0 and c1: hit hardest</h3>"]);
    const free = replayPage(await replay(logOf(["a"]), [{ algorithm: make(3) }]));
    assert.match(free, /, nobody would have been refused\.<\/p>/);
    assert.doesNotMatch(free, /<h3>/);
  });

  test("shows which lines could not be read, and which columns there are", async () => {
    const text = "time,client\n1,a\n<b>,c\n2,a\n";
    const page = replayPage(
      await replay(await readTrace(text), [{ algorithm: families[0]!.make(1) }]),
    );
    assert.match(page, /1 of 3 lines could not be read as csv\./);
    assert.match(page, /<p class="note">line 3: &#60;b&#62;,c: no valid time in column time<\/p>/);
    assert.match(
      page,
      /<p class="note">The columns are time, client; <code>--time<\/code> and <code>--key<\/code> /,
    );
  });

  test("lets nothing of the log become markup", async () => {
    const hostile = fc.oneof(
      fc.constantFrom(
        "</title><script>alert(1)</script>",
        '" onload="alert(1)',
        "'><img src=x onerror=alert(1)>",
        "]]><!--",
        "\u0000\u001b[31m",
      ),
      fc.string({ unit: "binary", minLength: 1, maxLength: 30 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(hostile, { minLength: 1, maxLength: 3 }), async (keys) => {
        const report = await reportOf(keys);
        const page = replayPage(report, { title: keys[0]! });
        const plain = replayPage(await reportOf(keys.map((_, i) => `client-${i}`)), {
          title: "title",
        });
        assert.deepEqual(tagsOf(page), tagsOf(plain));
      }),
      fcOptions({ numRuns: 60 }),
    );
  });

  test("shows a log of one instant", async () => {
    const log = [{ at: 1_000, key: "a", cost: 5 }];
    const report = await replay(log, [{ algorithm: gcra({ limit: 1, period: "1s", burst: 1 }) }]);
    const page = replayPage(report);
    assert.doesNotMatch(page, /NaN|Infinity|undefined/);
    assert.match(page, /forever/);
  });
});

test(
  "no table is cut off, and no option is broken over two lines, on a desktop and on a phone",
  needs("chromium"),
  () =>
    inFolder(async (folder) => {
      // Clients have long names, and one of them makes most requests, like a proxy.
      const log = Array.from({ length: 3_000 }, (_, index) => ({
        at: index * 1_000,
        key: index % 3 > 0 ? "203.0.113.66" : `2001:db8:85a3:${1_000 + index % 40}::/64`,
        cost: 1,
      }));
      const names = ["slidingWindow:1000/1h,precision=1m", "gcra:1/1m,burst=1", "lockout:20/1h"];
      const report = await replay(
        log,
        names.map((name) => ({ name, algorithm: gcra({ limit: 1, period: "1m", burst: 1 }) })),
      );
      const path = join(folder, "replay.html");
      writeFileSync(path, replayPage(report, { advice: await advise(log) }));
      assert.deepEqual(await measured(path), []);
    }),
);

/** The elements of a page that are cut off or broken, from `measure_page.mjs`. */
async function measured(path: string): Promise<unknown> {
  const script = `${rootPath}tests/adapters/replay/support/measure_page.mjs`;
  const node = `${rootPath}node_modules/.bin/node`;
  const { stdout } = await promisify(execFile)(node, [script, path], { timeout: 100_000 });
  return JSON.parse(stdout);
}

/** The markup of a page without its text and the places of things. */
function tagsOf(page: string): readonly string[] {
  return [...page.matchAll(/<(\/?[a-zA-Z!][^\s>]*)([^>]*)>/g)].map(([, name, attributes = ""]) =>
    `${name} ${[...attributes.matchAll(/([\w:-]+)="/g)].map(([, attribute]) => attribute)}`
  );
}
