import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";

import { drawn } from "../../support/seed.ts";
import { run as runCommand } from "./support/run_command.ts";
import { commandOf, started } from "./support/spawned.ts";

function run(...args: readonly string[]) {
  return runCommand("replay", ...args);
}

describe("tidegate replay", () => {
  let folder = "";
  let log = "";
  let costs = "";
  let six = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "tidegate-replay-"));
    log = join(folder, "access.log");
    costs = join(folder, "costs.csv");
    six = join(folder, "six.log");
    const line = (second: number, host: string) =>
      `${host} - - [22/Dec/2016:22:32:${10 + second} +0000] "GET / HTTP/1.1" 200 12\n`;
    const lines = [0, 1, 2, 3].flatMap((second) => [
      line(second, "192.0.2.1"),
      line(second, `192.0.2.${second + 2}`),
    ]);
    writeFileSync(six, lines.join("").replaceAll("192.0.2.", "2001:db8::"));
    writeFileSync(log, `${lines.join("")}nonsense\n`);
    writeFileSync(`${log}.gz`, gzipSync(readFileSync(log)));
    writeFileSync(join(folder, "empty.log"), "");
    writeFileSync(join(folder, "torn.gz"), gzipSync(readFileSync(log)).subarray(0, 60));
    writeFileSync(costs, "time,in,out,who\n1000,5,5,a\n1001,1,0,a\n1002,1,0,b\n");
  });
  after(() => rmSync(folder, { recursive: true }));

  test("prints a table", async () => {
    const { status, printed, complaints } = await run(
      ...[log, "--rule", "gcra:1/1m,burst=1", "--rule", "gcra:2/1m,burst=2"],
    );
    assert.equal(status, 0);
    assert.equal(complaints, "");
    assert.ok(printed.startsWith(
      "1 of 9 lines could not be read as common.\n" +
        "line 9: nonsense: it is not in the format common\nReplay knows these formats: vhost, common, ",
    ));
    assert.match(
      printed,
      /^With gcra:1\/1m,burst=1, 1 of 5 clients would have been refused, 37\.5 % of calls; /m,
    );
    assert.match(printed, /^8 requests, 5 clients in 3\.5 s$/m);
    assert.match(printed, /^gcra:1\/1m,burst=1 +3 +37\.5 +1 /m);
    assert.match(printed, /^gcra:2\/1m,burst=2 +2 +25\.0 +1 /m);
  });

  test("counts the addresses of a network as one client, as the service does", async () => {
    const rule = ["--rule", "fixedWindow:1/1m"];
    const { printed } = await run(six, ...rule);
    assert.match(printed, /^8 requests, 1 client in 3\.5 s$/m);
    assert.match(printed, /^fixedWindow:1\/1m +7 /m);
    assert.match(printed, /^2001:db8::\/64 +7 /m);
    assert.match((await run(six, ...rule, "--key", "ip/128")).printed, /, 5 clients in /);
    assert.match((await run(six, ...rule, "--key", "remote_addr")).printed, /, 1 client in /);
  });

  test("warns of the facts that a log of whole seconds does not show", async () => {
    const { printed } = await run(
      log,
      "--rule",
      "gcra:2/1s,burst=1",
      "--rule",
      "gcra:9/1m,burst=9",
    );
    assert.match(printed, /^Times are whole seconds, so replay spreads the requests of a second /m);
    assert.doesNotMatch(printed, /cannot tell exactly/);
    const one = join(folder, "one.log");
    writeFileSync(one, readFileSync(log, "utf8").replaceAll(/192\.0\.2\.\d/g, "192.0.2.1"));
    assert.match(
      (await run(one, "--rule", "gcra:2/1s,burst=1")).printed,
      /^This log cannot tell exactly what gcra:2\/1s,burst=1 would refuse: 0 % of requests if they are spread, 50\.0 % if those of a second come at once\.$/m,
    );
  });

  test("says that a page cannot be written before it reads the log", async () => {
    const nowhere = join(folder, "nowhere", "page.html");
    for (const html of [nowhere, folder]) {
      const { status, printed, complaints } = await run(
        "-",
        ...["--rule", "gcra:1/1m,burst=1"],
        "--html",
        html,
      );
      assert.deepEqual([status, printed], [1, ""]);
      assert.match(
        complaints,
        /^Cannot write --html .*(does not exist|must be a file)/,
      );
    }
  });

  test("writes a page", async () => {
    const html = join(folder, "page.html");
    const args = ["--rule", "gcra:1/1m,burst=1", "--html", html, "--title", "Mine & all"];
    assert.equal((await run(log, ...args)).status, 0);
    assert.match(readFileSync(html, "utf8"), /<title>Mine &#38; all<\/title>/);
  });

  test("prints JSON, and nothing else beside it", async () => {
    const args = ["--rule", "gcra:1/1m,burst=1", "--json"];
    const { printed, complaints } = await run(log, ...args);
    const report = JSON.parse(printed);
    const names = "version requests units untracked start end log clients backSteps candidates";
    assert.equal(Object.keys(report).join(" "), names);
    const { denied, smallest } = report.candidates[0];
    assert.deepEqual([report.version, denied, smallest], [1, 3, 4]);
    assert.match(complaints, /^1 of 9 lines could not be read/);
  });

  test("replays a rule file, and names the rules", async () => {
    const rules = join(folder, "rules.json");
    const limits = [{ limit: 3, period: "1m", burst: 3 }];
    writeFileSync(
      rules,
      JSON.stringify({
        domain: "shop",
        rules: [
          { key: "address", name: "network", limits },
          {
            key: "path",
            value: "/",
            name: "front",
            limits: [{ limit: 6, period: "1m", burst: 6 }],
          },
        ],
        routes: [{ descriptors: [{ address: "{address}" }, { path: "{path}" }] }],
      }),
    );
    const { printed, status } = await run(six, "--rules", rules);
    assert.equal(status, 0);
    // All addresses are of one network: three pass, the others are refused by it.
    assert.match(printed, /rules\.json +5 +62\.5 /);
    assert.match(printed, /^network +5 +62\.5 +1 /m);
    assert.equal(printed.match(/^With /gm)?.length, 1);
    assert.match(printed, /^front +0 +0 +0 /m);
    assert.match(printed, /^address=2001:db8::\/64 +5 +8 /m);
    const both = await run(log, "--rules", rules, "--rule", "gcra:1/1m,burst=1");
    assert.deepEqual([both.status, both.printed], [2, ""]);
  });

  const RULE = ["--rule", "gcra:1/1m,burst=1"];
  const refused: [file: string, args: string[], complaint: RegExp][] = [
    [
      "access.log",
      ["--rule", "60/1m"],
      /^Cannot read --rule as it must look like gcra:60\/1m,burst=10 or slidingLog:60\/1m: current value is "60\/1m"$/,
    ],
    [
      "access.log",
      ["--rule", "gcra:10/10s,burst=10,brust=3"],
      /there is no option "brust": its options are .*burst/,
    ],
    [
      "access.log",
      ["--rule", "gcra:10/10,burst=10"],
      /^Cannot read --rule as its period must have a unit, such as 500ms, 10s, 1m, 1h or 1d: current value is "10"$/,
    ],
    ["access.log", ["--rule", "slidingWindow:10/10s,precision=10"], /precision must have a unit/],
    ["access.log", ["--rule", "gcra:1/0m,burst=1"], /^Cannot read --rule as its period must be/],
    ["access.log", [...RULE, "--key", "ip/8"], /ipv6Prefix must be/],
    [
      "access.log",
      [...RULE, "--key", "who"],
      /log as key must name one of its columns: current value is "who"; its columns are remote_addr, ident, user/,
    ],
    ["access.log", [...RULE, "--time", "when"], /log as time must name one of its columns: /],
    [
      "empty.log",
      RULE,
      /^Cannot replay a log as the log must contain at least one request: current value is 0$/,
    ],
    ["torn.gz", RULE, /^Cannot read .*torn\.gz because its gzip data is cut off or damaged: /],
    ["nowhere.log", RULE, /nowhere\.log/],
    ["", RULE, /^Cannot read .+: it is a folder \(EISDIR\): give a file in it instead$/],
  ];
  for (const each of refused) {
    const [file, args, complaint] = each;
    const check = async () => {
      const { status, printed, complaints } = await run(join(folder, file), ...args);
      assert.deepEqual([status, printed], [1, ""]);
      assert.match(complaints, complaint);
    };
    test(`refuses ${file || "a folder"} ${args.join(" ")}`, check);
  }

  const pipes: [line: string, path: string][] = [
    [`cat "$0" | "$@"`, "-"],
    [`cat "$0" | "$@"`, "/dev/stdin"],
    [`cat "$0.gz" | "$@"`, "-"],
    [`gzip -dc "$0.gz" | "$@" 3<&0`, "/dev/fd/3"],
  ];
  for (const [line, path] of drawn(pipes, 2)) {
    test(`reads ${path} of the pipe ${line} once`, async () => {
      const args = ["--rule", "gcra:1/1m,burst=1"];
      // In the shell "$@" is the command, and $0 the log.
      const command = commandOf("replay", path, ...args);
      const { ended, output } = started(["sh", "-c", line, log, ...command]);
      assert.equal(await ended, 0);
      const { printed, complaints } = await run(log, ...args);
      assert.deepEqual(output, { printed: `${printed}\n`, complaints });
    });
  }

  test("ends in silence when nobody reads on", async () => {
    const wide = join(folder, "wide.csv");
    const lines = Array.from({ length: 9_000 }, (_, at) => `${1_000 + at * 60},c${at % 40}`);
    writeFileSync(wide, ["time,client", ...lines].join("\n"));
    // More than a pipe holds.
    const rules = Array.from({ length: 12 }, (_, at) => ["--rule", `gcra:${at + 1}/1h,burst=1`])
      .flat();
    const args = ["replay", wide, ...rules, "--json"];
    const { ended, output } = started([
      "sh",
      "-c",
      '"$@" | head -c 9',
      "sh",
      ...commandOf(...args),
    ]);
    assert.equal(await ended, 0);
    assert.deepEqual(output, { printed: '{\n  "vers', complaints: "" });
  });

  test("reads several logs, each in its own form, by the named columns", async () => {
    const { status, printed } = await run(log, `${log}.gz`, costs, "--rule", "gcra:1/1m,burst=1");
    assert.equal(status, 0);
    assert.match(printed, /^19 requests, 6 clients in /m);
    const rule = ["--rule", "slidingWindow:10/1m,precision=1s"];
    const own = await run(costs, "--format", "csv", "--key", "who", "--cost", "in,out", ...rule);
    assert.match(own.printed, /^3 requests, 12 units, 2 clients in 2 s$/m);
    const empty = join(folder, "empty.log");
    assert.equal((await run(log, empty, "--rule", "gcra:1/1m,burst=1")).status, 0);
  });
});
