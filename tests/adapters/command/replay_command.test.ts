import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import process from "node:process";
import { gzipSync } from "node:zlib";

import { commandLine } from "../../../adapters/service/service.ts";
import { rootPath } from "../../support/tree.ts";

/** Runs the command, and collects what it prints. */
async function run(...args: readonly string[]) {
  const printed: string[] = [];
  const complaints: string[] = [];
  const status = await commandLine(["replay", ...args], {
    print: (line) => printed.push(line),
    complain: (line) => complaints.push(line),
    env: {},
  });
  return { status, printed: printed.join("\n"), complaints: complaints.join("\n") };
}

/** Runs a line of shell, in which "$@" is the command in a process of its own, and $0 a file. */
async function runInShell(line: string, file: string, ...args: readonly string[]) {
  const deno = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  const command = [
    process.execPath,
    ...deno,
    `${rootPath}adapters/command/bin.ts`,
    "replay",
    ...args,
  ];
  const child = spawn("sh", ["-c", line, file, ...command], { stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  let complaints = "";
  child.stdout.on("data", (data) => printed += String(data));
  child.stderr.on("data", (data) => complaints += String(data));
  const status = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { status, printed, complaints };
}

describe("tidegate replay", () => {
  let folder = "";
  let log = "";
  let costs = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "tidegate-replay-"));
    log = join(folder, "access.log");
    costs = join(folder, "costs.csv");
    const line = (second: number, host: string) =>
      `${host} - - [22/Dec/2016:22:32:${10 + second} +0000] "GET / HTTP/1.1" 200 12\n`;
    const lines = [0, 1, 2, 3].flatMap((second) => [
      line(second, "2001:db8::1"),
      line(second, `2001:db8::${second + 2}`),
    ]);
    writeFileSync(log, `${lines.join("")}nonsense\n`);
    writeFileSync(`${log}.gz`, gzipSync(readFileSync(log)));
    writeFileSync(costs, "time,in,out,who\n1000,5,5,a\n1001,1,0,a\n1002,1,0,b\n");
  });
  after(() => rmSync(folder, { recursive: true }));

  test("prints a table", async () => {
    const { status, printed } = await run(
      log,
      "--rule",
      "gcra:1/1m",
      "--rule",
      "gcra:2/1m,burst=2",
    );
    assert.equal(status, 0);
    assert.match(printed, /^no entries: 1, the first one "nonsense"$/m);
    assert.match(printed, /^8 requests, 8 units, 5 clients in 3 s$/m);
    assert.match(printed, /^gcra:1\/1m +3 +37\.5 +1 /m);
    assert.match(printed, /^gcra:2\/1m,burst=2 +2 +25\.0 +1 /m);
  });

  test("takes the addresses of a network for one client", async () => {
    const { printed } = await run(log, "--rule", "fixedWindow:1/1m", "--key", "ip/64");
    assert.match(printed, /8 units, 1 client in 3 s/);
    assert.match(printed, /^fixedWindow:1\/1m +7 /m);
  });

  test("reads costs and keys from columns, and finds the smallest limits", async () => {
    const { status, printed } = await run(
      ...[costs, "--format", "csv", "--key", "who", "--cost", "in,out"],
      ...["--rule", "slidingWindow:10/1m,precision=1s", "--sweep", "1m"],
    );
    assert.equal(status, 0);
    assert.match(printed, /^3 requests, 12 units, 2 clients in 2 s$/m);
    assert.match(printed, /^slidingLog +11 +11 +11$/m);
  });

  test("puts a log in order where told to", async () => {
    const text = readFileSync(costs, "utf8").trimEnd().split("\n");
    const mixed = join(folder, "mixed.csv");
    writeFileSync(mixed, [text[0], text[3], text[2], text[1]].join("\n"));
    const rule = [mixed, "--format", "csv", "--rule", "gcra:1/1m"];
    assert.match((await run(...rule)).printed, /^2 requests were out of order/m);
    assert.doesNotMatch((await run(...rule, "--sort")).printed, /out of order/);
  });

  test("writes a page", async () => {
    const html = join(folder, "page.html");
    const { status } = await run(
      log,
      "--rule",
      "gcra:1/1m",
      "--html",
      html,
      "--title",
      "Mine & all",
    );
    assert.equal(status, 0);
    assert.match(readFileSync(html, "utf8"), /<title>Mine &#38; all<\/title>/);
  });

  test("says how it is used", async () => {
    assert.equal((await run("--help")).status, 0);
    assert.equal((await run(log)).status, 2);
    assert.match((await run("--help")).printed, /--rule RULE/);
  });

  const wrong: [args: string[], complaint: RegExp][] = [
    [["--rule", "60/1m"], /Cannot read a rule as it must be like gcra:60\/1m,burst=10/],
    [["--rule", "gcra:10/10s,brust=3"], /there is no option "brust": did you mean burst\?/],
    [["--rule", "gcra:10/10"], /period must have a unit, such as 500ms, 10s, 1m, 1h or 1d/],
    [["--rule", "slidingWindow:10/10s,precision=10"], /precision must have a unit/],
    [["--rule", "gcra:10/10s", "--sweep", "60"], /period must have a unit/],
    [["--rule", "gcra:0/1m"], /limit must be a positive integer/],
    [["--rule", "nope:1/1m"], /algorithm must be one of/],
    [["--rule", "gcra:1/1m", "--format", "xml"], /format must be one of/],
    [["--rule", "gcra:1/1m", "--key", "ip/8"], /ipv6Prefix must be/],
  ];
  for (const [args, complaint] of wrong) {
    test(`complains of ${args.join(" ")}`, async () => {
      const { status, complaints } = await run(log, ...args);
      assert.equal(status, 1);
      assert.match(complaints, complaint);
    });
  }

  const pipes: [line: string, path: string][] = [
    [`cat "$0" | "$@"`, "/dev/stdin"],
    [`gzip -dc "$0.gz" | "$@" 3<&0`, "/dev/fd/3"],
  ];
  for (const [line, path] of pipes) {
    test(`refuses the pipe ${line}, as it is read several times`, async () => {
      const args = [path, "--rule", "gcra:1/1m", "--sweep", "1m"];
      const { status, printed, complaints } = await runInShell(line, log, ...args);
      assert.deepEqual({ status, printed, complaints }, {
        status: 1,
        printed: "",
        complaints:
          `Cannot replay ${path} as it must be a file, which can be read several times, ` +
          "or be held in memory with --sort: it is a pipe\n",
      });
    });

    test(`holds the pipe ${line} in memory to sort it`, async () => {
      const args = ["--rule", "gcra:1/1m", "--sweep", "1m"];
      const piped = await runInShell(line, log, path, ...args, "--sort");
      const { printed } = await run(log, ...args);
      assert.deepEqual(piped, { status: 0, printed: `${printed}\n`, complaints: "" });
    });
  }

  test("refuses a named pipe and a directory before it opens them", async () => {
    const pipe = join(folder, "pipe");
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    for (const [path, what] of [[pipe, "a pipe"], [folder, "a directory"]] as const) {
      const { status, complaints } = await run(log, path, "--rule", "gcra:1/1m");
      assert.equal(status, 1);
      assert.ok(complaints.endsWith(`: it is ${what}`), complaints);
    }
  });

  const unknown: [what: string, args: string[], given: string, lines: number][] = [
    ["of another form", ["--format", "json"], "--format json", 9],
    ["without such a key", ["--key", "who"], "--format common --key who", 9],
    ["without such a cost", ["--cost", "a,b"], "--format common --cost a,b", 9],
  ];
  for (const [what, args, given, lines] of unknown) {
    test(`refuses a log ${what}`, async () => {
      const first = readFileSync(log, "utf8").split("\n")[0]!.slice(0, 60);
      assert.deepEqual(await run(log, ...args, "--rule", "gcra:1/1m", "--sweep", "1m"), {
        status: 1,
        printed: "",
        complaints: `Cannot replay ${log} as its lines must fit ${given}: ` +
          `none of ${lines} does; the first is "${first}..."`,
      });
    });
  }

  test("refuses a log of which one file is of another form", async () => {
    const { status, complaints } = await run(log, costs, "--rule", "gcra:1/1m");
    assert.equal(status, 1);
    assert.match(complaints, /costs\.csv .* none of 4 does; the first is "time,in,out,who"$/);
  });

  test("refuses a log without requests", async () => {
    const empty = join(folder, "empty.log");
    writeFileSync(empty, "");
    for (const more of [[], ["--sort"]]) {
      const { status, printed, complaints } = await run(empty, "--rule", "gcra:1/1m", ...more);
      assert.deepEqual({ status, printed, complaints }, {
        status: 1,
        printed: "",
        complaints:
          "Cannot replay a log as the log must hold at least one request: current value is 0",
      });
    }
    assert.equal((await run(log, empty, "--rule", "gcra:1/1m")).status, 0);
  });

  test("complains of a log that is not there", async () => {
    const { status, complaints } = await run("/nowhere.log", "--rule", "gcra:1/1m");
    assert.equal(status, 1);
    assert.match(complaints, /nowhere\.log/);
  });
});
