/*
 * `npm run tests-of FILE`: which tests hold a source file.
 *
 *   npm run tests-of stores/shared/table/insert.ts     the tests that catch seeded faults of it, and those nearest to it
 *   npm run tests-of                                   writes docs/internals/mutation.md
 *
 * The seeded faults name the tests that catch them (`npm run mutation` requires it). Where no fault is
 * seeded, the imports say which tests are nearest.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

import { targetsOf } from "../support/imports.ts";
import { exists, filesOf, rootPath, type SourceFile } from "../support/tree.ts";
import type { Fault, SuiteName } from "./fault.ts";
import { FAULTS } from "./faults.ts";

const PAGE = "docs/internals/mutation.md";

/** How many of the nearest tests are named. */
const NAMED = 8;

/** The test files of suites that no file is named after. */
const FILES: Readonly<Partial<Record<SuiteName, string>>> = {
  limiter: "tests/core/limiter/limiter_laws.test.ts",
  memoryStore: "tests/stores/memory/memory_laws.test.ts",
  "a full memoryStore": "tests/stores/memory/eviction.test.ts",
  "redisStore by watch": "tests/stores/redis/laws.test.ts",
  "redisStore by cas": "tests/stores/redis/laws.test.ts",
  "redisStore by script": "tests/stores/redis/laws.test.ts",
  sharedStore: "tests/stores/shared/laws.test.ts",
  "memory of a sharedStore": "tests/stores/shared/laws.test.ts",
  "windows of a sharedStore": "tests/stores/shared/laws.test.ts",
  "threads on a sharedStore": "tests/stores/shared/threads.test.ts",
};

/** The test files that catch the faults, each with how many it is named for. */
export function catchersOf(faults: readonly Fault[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { laws } of faults) {
    for (const file of new Set(laws.map(fileOf))) counts.set(file, (counts.get(file) ?? 0) + 1);
  }
  return counts;
}

function fileOf(suite: SuiteName): string {
  if (suite.endsWith(".test.ts")) return suite;
  return FILES[suite] ?? "tests/core/algorithms/laws.test.ts";
}

/**
 * The tests by which a file is reached through the fewest imports; those in the folder that mirrors
 * its own come first.
 */
export function nearestTests(path: string, files: readonly SourceFile[]): readonly string[] {
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const target of targetsOf(file)) {
      importers.set(target, [...importers.get(target) ?? [], file.path]);
    }
  }
  const seen = new Set([path]);
  for (let level = [path]; level.length > 0;) {
    level = [...new Set(level.flatMap((one) => importers.get(one) ?? []))]
      .filter((one) => !seen.has(one));
    for (const one of level) seen.add(one);
    const tests = level.filter((one) => one.endsWith(".test.ts"));
    if (tests.length > 0) return tests.sort((a, b) => shared(b) - shared(a) || (a < b ? -1 : 1));
  }
  return [];

  /** How many folders of a test mirror those of the file. */
  function shared(test: string): number {
    const own = path.split("/");
    const differs = test.split("/").slice(1).findIndex((name, index) => name !== own[index]);
    return differs;
  }
}

/** The page docs/internals/mutation.md. */
export function page(faults: readonly Fault[]): string {
  const files = [...new Set(faults.map(({ file }) => file))].sort();
  const rows = files.map((file) => {
    const own = faults.filter((fault) => fault.file === file);
    const names = [...catchersOf(own).keys()].map((name) =>
      `\`${name.replace(/^tests\//, "").replace(/\.test\.ts$/, "")}\``
    );
    return `| \`${file}\` | ${own.length} | ${names.join(", ")} |`;
  });
  return `# Faults that the tests catch

Tests are worth as much as the faults they find. \`npm run mutation\` puts faults into a copy of the
tree, one at a time, and requires that a test catches each. The faults are in
\`tests/mutation/faults\`. \`npm run tests-of FILE\` answers for one file, and names the nearest tests
where no fault is seeded; without FILE it writes this page.

${faults.length} faults in ${files.length} files:

| put into | faults | caught by (in \`tests\`) |
| --- | --- | --- |
${rows.join("\n")}
`;
}

function main(path: string | undefined): void {
  if (path === undefined) return writeFileSync(join(rootPath, PAGE), page(FAULTS));
  if (!exists(path)) {
    console.error(`Cannot find the tests of ${path} because there is no such file`);
    process.exitCode = 2;
    return;
  }
  const catchers = [...catchersOf(FAULTS.filter(({ file }) => file === path))];
  if (catchers.length > 0) console.log(`Tests that catch seeded faults in ${path}:`);
  for (const [name, count] of catchers) console.log(`  ${name} (${count})`);
  const files = filesOf(["mod.ts", "core", "stores", "adapters", "examples", "tests"], ".ts");
  const nearest = nearestTests(path, files);
  console.log(`Tests nearest to it by imports${nearest.length > 0 ? ":" : ": none"}`);
  for (const name of nearest.slice(0, NAMED)) console.log(`  ${name}`);
  if (nearest.length > NAMED) console.log(`  and ${nearest.length - NAMED} more`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv[2]);
