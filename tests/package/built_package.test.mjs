// Tries the packed npm package as its users get it. Runs in a folder of its own where the
// package is unpacked (see .ci/package.mjs), on a Node that knows no TypeScript.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import { acquire, gcra, limiter } from "tidegate";

const home = new URL("node_modules/tidegate/", import.meta.url);
const require = createRequire(import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", home), "utf8"));
const entries = Object.keys(manifest.exports)
  .filter((path) => path !== "./package.json")
  .map((path) => path.replace(/^\./, "tidegate"));

/** Every file of the package, by its path there. */
const files = readdirSync(home, { encoding: "utf8", recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(fileURLToPath(home), join(entry.parentPath, entry.name)));

/** Paths of the files that a package may hold. */
const PACKED = [
  /^dist\/.+\.(js|d\.ts|html|css)$/,
  /^docs\/(\w+\.md|plots\/\w+\.svg|rules\.schema\.json)$/,
  /^examples\/(drivers\/)?\w+\.ts$/,
  /^([A-Z]+\.md|LICENSE|package\.json)$/,
];

/** The most that a bundle of the first example may come to, in bytes of gzip. */
const MAX_BUNDLED = 12_800;

for (const entry of entries) {
  test(`${entry} can be imported`, async () => {
    const module = await import(entry);
    assert.ok(Object.keys(module).length > 0);
    assert.equal("default" in module, false);
  });

  test(`${entry} can be required where Node can require modules`, () => {
    if (!process.features.require_module) return;
    assert.ok(Object.keys(require(entry)).length > 0);
  });
}

test("the package is the packed one, and holds its types and its licence", () => {
  assert.equal(import.meta.resolve("tidegate"), new URL("dist/mod.js", home).href);
  for (const { types } of Object.values(manifest.exports)) {
    if (types !== undefined) assert.ok(readFileSync(new URL(types, home), "utf8").length > 0);
  }
  assert.match(readFileSync(new URL("LICENSE", home), "utf8"), /MIT License/);
});

test("every link of the pages leads into the package", () => {
  const pages = files.filter((name) => name.endsWith(".md"));
  const links = pages.flatMap((page) => {
    const text = readFileSync(new URL(page, home), "utf8");
    const found = text.matchAll(/(?:\]\(|(?:src|href)=")(?!https?:|mailto:|#)([^)\s#"]+)/g);
    return [...found].map(([, link = ""]) => ({ page, link }));
  });
  assert.ok(links.length > 100);
  const broken = links.filter(({ page, link }) => !existsSync(new URL(link, new URL(page, home))));
  assert.deepEqual(broken, []);
});

test("the package holds the library, its pages and their pictures, and nothing else", () => {
  const extra = files.filter((name) => !PACKED.some((regexp) => regexp.test(name)));
  assert.deepEqual(extra, []);
});

test("the page about errors names the version of Effect under the error of an older one", () => {
  const page = readFileSync(new URL("docs/errors.md", home), "utf8");
  const [, section = ""] = /^#+ ERR_PACKAGE_PATH_NOT_EXPORTED$([^]*?)^#/m.exec(page) ?? [];
  assert.match(section, /needs Effect 4\.1 or later/);
  assert.match(section, /is not defined by "exports" in .*\/effect\/package\.json/);
});

test("the package takes little", () => {
  const bytes = files.map((name) => statSync(new URL(name, home)).size);
  assert.ok(files.length <= 940, `${files.length} files`);
  const sum = bytes.reduce((total, size) => total + size, 0);
  assert.ok(sum <= 4_000_000, `${sum} bytes`);
});

test("a limiter refuses calls over the limit, and says when to come back", () => {
  let now = 1_700_000_000_000;
  const api = limiter(gcra({ limit: 2, period: "1s", burst: 2 }), { clock: () => now });
  assert.equal(api.consume("user:42").allowed, true);
  assert.equal(api.consume("user:42").allowed, true);
  const refused = api.consume("user:42");
  assert.equal(refused.allowed, false);
  assert.equal(refused.retryAfter, 500);
  assert.equal(api.consume("user:43").allowed, true);
  now += 500;
  assert.equal(api.consume("user:42").allowed, true);
});

test("a limiter waits its turn", async () => {
  const api = limiter(gcra({ limit: 1, period: 20, burst: 1 }));
  api.consume("job");
  const decision = await acquire(api, "job");
  assert.equal(decision.allowed, true);
});

test("bad options are refused by name", () => {
  assert.throws(() => gcra({ limit: -1, period: "1s", burst: -1 }), {
    name: "RangeError",
    message: /limit/,
  });
});

test("the command checks rules, and has the page beside it", () => {
  const file = new URL("rules.json", import.meta.url);
  const rules = [{ key: "user", limits: [{ limit: -1, period: "1s", burst: 1 }] }];
  writeFileSync(file, JSON.stringify({ domain: "shop", rules }));
  const command = fileURLToPath(new URL(manifest.bin.tidegate, home));
  const { status, stderr } = spawnSync(process.execPath, [command, "lint", fileURLToPath(file)], {
    encoding: "utf8",
  });
  assert.equal(status, 1);
  assert.match(
    stderr,
    /rules.json:1:\d+: error: .*limit: expected an integer of at least 0, not -1/,
  );
  assert.ok(
    readFileSync(new URL("dist/adapters/service/http/page/page.js", home), "utf8").length > 0,
  );
});

test("the command serves with as many threads as this Node lets share a port", async () => {
  const file = new URL("served.json", import.meta.url);
  const rules = [{ key: "user", limits: [{ limit: 1, period: "1m", burst: 1 }] }];
  writeFileSync(file, JSON.stringify({ domain: "shop", rules }));
  const command = fileURLToPath(new URL(manifest.bin.tidegate, home));
  const serve = [command, "serve", fileURLToPath(file), "--port", "0", "--no-grpc"];
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [byDefault, withTwo] = [await served([]), await served(["--threads", "2"])];
  assert.match(byDefault, /"event":"listening"/);
  if (major > 22 || (major === 22 && minor >= 12)) assert.match(withTwo, /"threads":2/);
  else assert.match(withTwo, /^Cannot serve as threads must be 1 on Node before 22.12, .* is 2$/m);

  /** The service's output until it listens or fails to. The service is then ended. */
  async function served(/** @type {string[]} */ more) {
    const service = spawn(process.execPath, [...serve, ...more]);
    let text = "";
    for (const stream of [service.stdout, service.stderr]) {
      stream.on("data", (data) => {
        text += data;
        if (text.includes("listening")) service.kill();
      });
    }
    await new Promise((resolve) => service.on("close", resolve));
    return text;
  }
});

const FIRST_EXAMPLE = 'export { gcra, limiter } from "tidegate";';

/**
 * A bundle of code, and its size in bytes of gzip.
 * @param {string} contents
 */
async function bundled(contents) {
  const { metafile, outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(home) },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2022",
  });
  const modules = Object.keys(metafile.outputs["<stdout>"]?.inputs ?? {});
  return {
    size: gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length,
    names: modules.join(" "),
  };
}

test("gcra, limiter and the memory store are a small bundle, without code that they do not use", async () => {
  const { size, names } = await bundled(FIRST_EXAMPLE);
  assert.ok(size <= MAX_BUNDLED, `${size} bytes of gzip`);
  assert.doesNotMatch(names, /sliding|lockout|timeline|consume_all|adapters|redis|shared|layered/);
  assert.doesNotMatch(names, /waiting|receipts|permit_desk|limiter\/block|snapshot/);
});

test("a function adds to a bundle what docs/limiter.md says, and at most 5 % more", async () => {
  const page = readFileSync(new URL("docs/limiter.md", home), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)\(.*?\)`(?:, of `(\w+)`)? \| .* \| ([\d.]+) kB \|$/gm)];
  assert.ok(rows.length >= 11, `${rows.length} functions`);
  const { size: least } = await bundled(FIRST_EXAMPLE);
  for (const [, name, algorithm, said] of rows) {
    const names = ["gcra", "limiter", name, ...(algorithm === undefined ? [] : [algorithm])];
    const { size } = await bundled(`export { ${names.join(", ")} } from "tidegate";`);
    // The page rounds to 0.1 kB.
    const most = 1_050 * Number(said) + 50;
    assert.ok(size - least <= most, `${name} adds ${size - least} bytes of gzip`);
  }
});

test("README.md says how large the first example is, with HTTP and without", async () => {
  const page = readFileSync(new URL("README.md", home), "utf8").replace(/\s+/g, " ");
  const said = /`limiter` with `gcra` is (\d+) kB [^.]* or (\d+) kB with/.exec(page);
  const http = `${FIRST_EXAMPLE} export { limitHandler } from "tidegate/http";`;
  const sizes = [(await bundled(FIRST_EXAMPLE)).size, (await bundled(http)).size];
  for (const [index, size] of sizes.entries()) {
    assert.ok(Math.abs(Number(said?.[index + 1]) - size / 1000) < 1, `${size} bytes of gzip`);
  }
});
