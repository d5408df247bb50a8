import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { inFolder } from "../../support/in_folder.ts";
import { run as runCommand } from "./support/run_command.ts";
import { commandOf, started } from "./support/spawned.ts";

function run(...args: readonly string[]) {
  return runCommand("advise", ...args);
}

/** Thirty clients with some requests each, and one with a hundred times as many. */
const LOG = Array.from(
  { length: 31 },
  (_, client) =>
    Array.from({ length: client === 30 ? 900 : 3 + client % 9 }, (_, row) => {
      const second = client === 30 ? row / 3 : client * 10 + row * 4;
      const time = new Date(Date.UTC(2026, 2, 2) + Math.floor(second) * 1_000).toISOString();
      return `${time},192.0.2.${client},GET,${client % 2 === 0 ? "/api/items" : "/"}\n`;
    }),
).flat();

describe("tidegate advise", () => {
  test("answers with a limit, a picture and lines to paste, and needs no rule", () =>
    inFolder(async (folder) => {
      const log = join(folder, "access.csv");
      const html = join(folder, "advice.html");
      writeFileSync(log, `time,client,method,url\n${LOG.join("")}`);
      const { status, printed, complaints } = await run(log, "--html", html);
      assert.equal(status, 0);
      assert.equal(complaints, `Wrote the page to ${html}`);
      assert.match(printed, /^Allow \d+ in .*: that refuses none of the 30 ordinary clients/m);
      assert.match(printed, /^Set aside: are they yours\?\nclient .*\n192\.0\.2\.30 +900 /m);
      assert.match(printed, /^192\.0\.2\.30 \(set aside\) +900 /m);
      assert.match(printed, /^ *limit {2}(?:- )+ at most \d+$/m);
      assert.match(printed, /^ {2}const perClient = limiter\(gcra\(\{ limit: \d+, period: "/m);
      assert.match(readFileSync(html, "utf8"), /<h2>Advice<\/h2>[^]*<h2>Over time/);
    }));

  test("takes the options of replay, and its own", () =>
    inFolder(async (folder) => {
      const log = join(folder, "access.csv");
      writeFileSync(log, `time,client,method,url\n${LOG.join("")}`);
      const args = ["--where", "path=/api/*", "--ordinary", "192.0.2.30", "--headroom", "3"];
      assert.match(
        (await run(log, ...args)).printed,
        /^Only lines with path=\/api\/\* count: \d+ of 1,101 lines were left out\.$/m,
      );
      const { printed, complaints } = await run(log, ...args, "--json");
      assert.equal(complaints, "");
      const { version, clients, parts } = JSON.parse(printed);
      assert.deepEqual([version, clients, parts[0].setAside], [1, 16, 0]);
      assert.equal(parts[0].headroom, 3);
    }));

  test("prints the command that replays the same requests, for a shell", () =>
    inFolder(async (folder) => {
      const log = join(folder, "site's $1 `id`.log");
      const pattern = "it's $time_iso8601 $xff $user '$request' $status";
      const lines = LOG.map((line, row) => {
        const [time, client] = line.split(",");
        const user = row % 9 === 0 ? "-" : client!.replaceAll(".", "_");
        return `it's ${time} ${client} ${user} '${row % 2 ? "GET" : "POST"} /' 200\n`;
      });
      writeFileSync(log, `${lines.join("")}nonsense\n`);
      const args = ["--pattern", pattern, "--key", "user", "--where", "method!=GET"];
      const { printed } = await run(log, ...args, "--where", "status=2*", "--time", "time_iso8601");
      const [, requests] = /^([\d,]+ requests) of /m.exec(printed)!;
      const [, skipped] = /^(.* names? no client in user, and were skipped\.)$/m.exec(printed)!;
      assert.match(printed, /^1 of 1,\d+ lines could not be read as pattern\.$/m);
      const [, line = ""] = /^ {2}npx tidegate (replay .*)$/m.exec(printed)!;
      const { ended, output } = started(["sh", "-c", `"$@" ${line}`, "sh", ...commandOf()]);
      assert.equal(await ended, 0, output.complaints);
      assert.ok(output.printed.startsWith(`${requests}, `), output.printed);
      assert.ok(output.printed.includes(skipped!), output.printed);
    }));

  test("says first that most of the log could not be read", () =>
    inFolder(async (folder) => {
      const log = join(folder, "access.csv");
      writeFileSync(log, `time,client,method,url\n${LOG.join("")}${"a\n".repeat(2_000)}`);
      const { printed } = await run(log);
      assert.match(printed, /^Most of the log is missing from this report: 2,000 of 3,\d+ lines /);
    }));

  test("prints its usage, and rejects arguments that it cannot use", async () => {
    assert.match((await run()).complaints, /advise takes a log: advise access\.log/);
    assert.equal((await run()).status, 2);
    assert.match((await run("nowhere.log")).complaints, /nowhere\.log/);
    assert.match((await run("--help")).printed, /--ordinary CLIENT/);
  });
});
