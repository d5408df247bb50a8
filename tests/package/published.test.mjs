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
  const rules = { domain: "shop", rules: [{ key: "user", limits: [{ limit: 2, period: "1h" }] }] };
  writeFileSync("rules.json", JSON.stringify(rules));
  const args = ["serve", "rules.json", "--port", "0", "--threads", "2"];
  const served = spawn(process.execPath, [
    "run",
    "-A",
    "--no-check",
    "--config=deno.json",
    imports["tidegate/bin"],
    ...args,
  ], {
    stdio: ["ignore", "pipe", "pipe"],
  });
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
