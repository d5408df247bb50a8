// Checks the models of the shared store's protocols with spin and a C compiler:
//
//   node docs/models/run.mjs           about a minute
//   node docs/models/run.mjs --long    some minutes and 6 GB: three threads at one bucket
//
// On Debian: apt-get install spin gcc, and relacy-dev g++ for the last part. Each model is searched to
// the end. With CARELESS it leaves out the step that matters, and must then fail: a model that cannot
// fail shows nothing.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const isLong = process.argv.includes("--long");
/** @type {readonly (readonly [model: string, flags: readonly string[], holds: boolean])[]} */
const checks = [
  ["swap", [], true],
  ["swap", ["-DTHREADS=3", "-DCALLS=2", "-DDOOMED"], true],
  ["swap", ["-DCARELESS"], false],
  ["insert", [], true],
  ["insert", ["-DTHREADS=3", "-DOTHER=2", `-DTRIES=${isLong ? 2 : 1}`], true],
  ["insert", ["-DCARELESS"], false],
  ["chain", [], true],
  ["chain", ["-DOTHER=4"], true],
  ["chain", ["-DCARELESS=1"], false],
  ["chain", ["-DCARELESS=2"], false],
  ["chain", ["-DCARELESS=3", "-DOTHER=4"], false],
  ["chain", ["-DCARELESS=4"], false],
  ["batch", [], true],
  ["batch", ["-DFIRST1=0"], true],
  ["batch", ["-DCARELESS"], false],
  ["pool", [], true],
  ["pool", ["-DCARELESS=1"], false],
  ["pool", ["-DCARELESS=2"], false],
  ["pool", ["-DCARELESS=3"], false],
  ["pool", ["-DCARELESS=4"], false],
  ["record", [], true],
  ["record", ["-DCARELESS=1"], false],
  ["record", ["-DCARELESS=2"], false],
  ["record", ["-DCARELESS=3"], false],
  ["record", ["-DCARELESS=4"], false],
  ["record", ["-DCARELESS=5"], false],
  ["evict", [], true],
  ["evict", ["-DTHREADS=3", "-DCALLS=1"], true],
  ["evict", ["-DCARELESS=1"], false],
  ["evict", ["-DCARELESS=2"], false],
  ["evict", ["-DCARELESS=3"], false],
  ["keys", [], true],
  ["keys", ["-DTRIES=3"], true],
  ["keys", ["-DCARELESS=1"], false],
  ["keys", ["-DCARELESS=2"], false],
  ["keys", ["-DCARELESS=3"], false],
  ["keys", ["-DCARELESS=4"], false],
  ["vet", [], true],
  ["vet", ["-DCARELESS=1"], false],
  ["vet", ["-DCARELESS=2"], false],
  ["vet", ["-DCARELESS=3"], false],
  ["vet", ["-DCARELESS=4"], false],
];

let failed = 0;
for (const [model, flags, holds] of checks) {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-model-"));
  try {
    const run = (/** @type {string} */ program, /** @type {string[]} */ args) =>
      execFileSync(program, args, {
        cwd: folder,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
    run("spin", [...flags, "-a", join(import.meta.dirname, `${model}.pml`)]);
    run("gcc", ["-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=9000", "-o", "pan", "pan.c"]);
    const output = run("./pan", ["-m1000000"]);
    const errors = /errors: (\d+)/.exec(output)?.[1];
    const states = /(\d+) states, stored/.exec(output)?.[1];
    const isWhole = !/reached -DMEMLIM|max search depth too small/.test(output);
    const isRight = isWhole && (errors === "0") === holds;
    if (!isRight) failed++;
    const verdict = isRight ? "ok" : "FAILED";
    const wanted = holds ? "" : " (must fail)";
    console.log(
      `${verdict}: ${model} ${flags.join(" ")}${wanted}: ${states} states, ${errors} errors`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// The announcements once more, in C++ under weak memory, each of their orders weakened in turn.
/** @type {readonly (readonly [flag: string, holds: boolean])[]} */
const orders = [
  ["-O2", true],
  ["-DANNOUNCE=release", false],
  ["-DLOOK=relaxed", false],
  ["-DVET=relaxed", false],
  ["-DCLEAR=relaxed", false],
  ["-DSWAP=relaxed", false],
];
for (const [flag, holds] of existsSync("/usr/include/relacy") ? orders : []) {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-model-"));
  const program = join(folder, "hazard");
  const source = join(import.meta.dirname, "hazard.cpp");
  execFileSync("g++", ["-std=c++11", "-O2", "-w", "-fpermissive", flag, "-o", program, source]);
  const isRight = (spawnSync(program, { stdio: "ignore" }).status === 0) === holds;
  if (!isRight) failed++;
  console.log(`${isRight ? "ok" : "FAILED"}: hazard ${flag}${holds ? "" : " (must fail)"}`);
  rmSync(folder, { recursive: true, force: true });
}
console.log(failed === 0 ? "all as expected" : `${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
