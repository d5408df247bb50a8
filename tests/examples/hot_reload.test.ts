import assert from "node:assert/strict";
import { test } from "node:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { type RunningProgram, startProgram } from "../support/child_process.ts";
import { inFolder } from "../support/in_folder.ts";
import { rawRequest } from "../support/raw_request.ts";
import { readText, rootPath } from "../support/tree.ts";

test(
  "the example server under bun --hot, saved five times, is one server",
  () =>
    inFolder(async (folder) => {
      const file = join(folder, "server.ts");
      const text = readText("examples/server.ts")
        .replace('limit: 30, period: "1m"', 'limit: 1, period: "1h"');
      const save = (load: number) =>
        writeFileSync(file, text.replace("Listening on", `Load ${load} listens on`));
      save(0);
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(absolutePaths()));
      const server = startProgram("bun", ["--hot", file], { PORT: "0", THREADS: "3" });
      try {
        const statuses: number[] = [];
        for (let load = 0; load <= 5; load++) {
          if (load > 0) save(load);
          for (let call = 0; call < 2; call++) statuses.push(await statusOf(server, load));
        }
        const [first, rest] = [statuses.slice(0, 5), statuses.slice(5)];
        assert.deepEqual([new Set(first), new Set(rest)], [new Set([200]), new Set([429])]);
      } finally {
        await server.end("SIGINT");
      }
    }),
);

/**
 * The status of a request to the server of a load. Each load has another port, because the program asks
 * for any. A file that is seen while it is written is loaded twice; then the first of the servers ends.
 */
async function statusOf(server: RunningProgram, load: number): Promise<number> {
  for (const ended = ["0"];;) {
    const [, port = ""] = await server.line(
      new RegExp(`^Load ${load} listens on http://[^:]+:(?!(?:${ended.join("|")})/)(\\d+)/`),
    );
    const status = await rawRequest(Number(port)).then((answer) => answer.status, () => 503);
    if (status !== 503) return status;
    ended.push(port);
  }
}

/** The paths of this package's entry points, for a program that stands elsewhere. */
function absolutePaths() {
  const { compilerOptions } = JSON.parse(readText("tsconfig.json"));
  const paths = Object.entries(compilerOptions.paths as Record<string, readonly string[]>)
    .map(([name, [path = ""]]) => [name, [join(rootPath, path)]]);
  return { compilerOptions: { paths: Object.fromEntries(paths) } };
}
