// Runs where tidegate comes by HTTP, as from JSR: see .ci/published.mjs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";

const { imports } = JSON.parse(readFileSync("deno.json", "utf8"));
const entries = Object.keys(imports).filter((name) =>
  /^tidegate/.test(name) && !name.endsWith("/bin")
);

for (const name of entries) {
  test(`${name} can be imported`, async () => {
    const module = await import(name);
    assert.notDeepEqual(Object.keys(module), []);
  });
}

test("README.md's first example runs", async () => {
  const page = await (await fetch(`${imports["published/"]}README.md`)).text();
  const [, example = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  assert.match(example, /from "tidegate"/);
  writeFileSync("example.ts", example);
  await import(new URL("example.ts", import.meta.url).href);
});

test("the command serves on two threads", async () => {
  const rules = {
    domain: "shop",
    rules: [{ key: "user", limits: [{ limit: 2, period: "1h", burst: 2 }] }],
  };
  writeFileSync("rules.json", JSON.stringify(rules));
  const served = command("serve", "rules.json", "--port", "0", "--threads", "2");
  const ended = new Promise((resolve) => served.on("exit", resolve));
  try {
    const url = await listening(served);
    const consume = async () => {
      const body = JSON.stringify({ entries: { user: "42" } });
      const response = await fetch(`${url}/v1/consume`, {
        method: "POST",
        body,
        headers: { connection: "close" },
      });
      return (await response.json()).allowed;
    };
    const verdicts = [];
    for (let calls = 0; calls < 12; calls++) verdicts.push(await consume());
    assert.deepEqual(verdicts.filter(Boolean), [true, true]);
    assert.equal((await fetch(url)).status, 200);
  } finally {
    served.kill("SIGKILL");
    await ended;
  }
});

test("the command replays a log", async () => {
  const line = '192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5\n';
  writeFileSync("access.log", line.repeat(100));
  const replayed = command("replay", "access.log", "--rule", "gcra:60/1m,burst=1");
  let output = "";
  for (const stream of [replayed.stdout, replayed.stderr]) {
    stream?.on("data", (text) => output += text);
  }
  const code = await new Promise((resolve) => replayed.on("close", resolve));
  assert.equal(code, 0, output);
  assert.match(output, /99/);
});

/** Starts the command. @param {...string} args */
function command(...args) {
  const run = ["run", "-A", "--no-check", "--config=deno.json", imports["tidegate/bin"]];
  return spawn(process.execPath, [...run, ...args], { stdio: ["ignore", "pipe", "pipe"] });
}

/**
 * The address that the service reports once it listens.
 * @param {import("node:child_process").ChildProcess} served
 * @returns {Promise<string>}
 */
function listening(served) {
  let output = "";
  return new Promise((resolve, reject) => {
    const read = (/** @type {unknown} */ text) => {
      output += text;
      const [address] = /(?<=listening.*)http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      if (address !== undefined) resolve(address);
    };
    served.stdout?.on("data", read);
    served.stderr?.on("data", read);
    served.on("exit", (code) => reject(new Error(`It ended with ${code}: ${output}`)));
  });
}
