/*
 * Are the laws any good? Puts faults into a copy of the tree, one at a time, and runs the laws on it:
 *
 *   npm run mutation                 all of them
 *   npm run mutation -- window       those whose words, file or laws hold "window"
 *
 * At last it says what each suite is worth: how many faults it caught, for how many of them no other
 * suite is named, and how long it takes on code without a fault.
 *
 * TIDEGATE_SEED=n   the seed of the laws; 1 without it
 */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

import type { Fault, SuiteName } from "./fault.ts";
import { FAULTS } from "./faults.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const COPIED = [
  "core",
  "stores",
  "adapters",
  "tests",
  "examples",
  "docs",
  ".ci",
  "mod.ts",
  "package.json",
];
/**
 * A law that has not ended by then is broken too, because some faults never end: in milliseconds, or
 * so many times as long as the laws take without a fault, which counts on a busy machine.
 */
const TIME_LIMIT = 60_000;
const TIMES_AS_LONG = 10;
/** How long laws may take without a fault. */
const SOUND_LIMIT = 15 * 60_000;

const wanted = process.argv[2] ?? "";
const seed = process.env["TIDEGATE_SEED"] ?? "1";
const faults = FAULTS.filter((fault) => JSON.stringify(fault).includes(wanted));
const copy = mkdtempSync(join(tmpdir(), "tidegate-mutation-"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));

for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));

requirePlaces();
/** How many seconds the laws of a suite take without a fault. */
const took = new Map<SuiteName, number>();
const sound = await untouchedLawsHold([...new Set(faults.flatMap(({ laws }) => laws))]);
if (!sound) process.exit(1);
const worth = new Map<string, { caught: number; alone: number }>();
let missed = 0;
for (const fault of faults) {
  const caught = await caughtBy(fault);
  console.log(`${caught === undefined ? "MISSED" : "caught"}  ${fault.what}`);
  console.log(`        ${caught?.join(": ") ?? `${fault.file}: ${fault.laws.join(", ")}`}`);
  if (caught === undefined) missed++;
  else count(caught[0], fault.laws.length === 1);
}
printWorth();
console.log(`${faults.length - missed} of ${faults.length} faults caught`);
process.exit(missed === 0 && faults.length > 0 ? 0 : 1);

function count(suite: string, isAlone: boolean): void {
  const { caught, alone } = worth.get(suite) ?? { caught: 0, alone: 0 };
  worth.set(suite, { caught: caught + 1, alone: alone + Number(isAlone) });
}

function printWorth(): void {
  console.log("caught  alone  seconds");
  for (const [suite, seconds] of [...took].sort(([, a], [, b]) => b - a)) {
    const { caught, alone } = worth.get(suite) ?? { caught: 0, alone: 0 };
    const cells = [String(caught).padStart(6), String(alone).padStart(5), seconds.toFixed(1)];
    console.log(`${cells[0]}  ${cells[1]}  ${cells[2]!.padStart(7)}  ${suite}`);
  }
}

/** Every fault must have its place; where the code has moved on, so must the fault. */
function requirePlaces(): void {
  const lost = faults.filter(({ file, search }) =>
    readFileSync(join(root, file), "utf8").split(search).length !== 2
  );
  for (const { what, file, search } of lost) {
    console.error(`"${what}" needs ${file} to hold this just once: ${search}`);
  }
  if (lost.length > 0) process.exit(1);
}

/**
 * Requires laws to hold without a fault, because failing laws would catch everything. Times them, too.
 */
async function untouchedLawsHold(suites: readonly SuiteName[]): Promise<boolean> {
  for (const suite of suites) {
    const begun = performance.now();
    const broken = await brokenLaw(suite);
    took.set(suite, (performance.now() - begun) / 1_000);
    if (broken === undefined) continue;
    console.error(`The laws of ${suite} fail without a fault: ${broken}`);
    return false;
  }
  return true;
}

/** The suite and the law that catch a fault; `undefined` if no law does. */
async function caughtBy(
  { file, search, replace, laws }: Fault,
): Promise<readonly [SuiteName, string] | undefined> {
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(search, () => replace));
  try {
    for (const suite of laws) {
      const broken = await brokenLaw(suite);
      if (broken !== undefined) return [suite, broken];
    }
    return undefined;
  } finally {
    writeFileSync(path, text);
  }
}

/** The first law of a suite that does not hold; `undefined` if all do. */
function brokenLaw(suite: SuiteName): Promise<string | undefined> {
  const trial = join(copy, "tests/mutation/trial.ts");
  const child = spawn(process.execPath, [trial, suite, seed], {
    cwd: copy,
    // Laws that are files of tests read the seed here.
    env: { ...process.env, TIDEGATE_SEED: seed },
    detached: true,
  });
  // A test file runs in a process of its own, which would outlive the trial.
  const killGroup = () => process.kill(-child.pid!, "SIGKILL");
  let output = "";
  let errors = "";
  child.stdout.on("data", (data) => output += data);
  child.stderr.on("data", (data) => errors += data);
  return new Promise((resolve, reject) => {
    const sound = took.get(suite);
    const limit = sound === undefined
      ? SOUND_LIMIT
      : Math.max(TIME_LIMIT, TIMES_AS_LONG * sound * 1_000);
    const timer = setTimeout(killGroup, limit);
    process.once("exit", killGroup);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      process.off("exit", killGroup);
      if (signal !== null) resolve("a law that did not end");
      else if (code === 0) resolve(undefined);
      else if (output.trim() !== "") resolve(output.trim());
      else reject(new Error(`The laws of ${suite} could not be run: ${errors}`));
    });
  });
}
