// `npm run recipes [NAME...]`: each recipe of examples/frameworks in a fresh project, with the newest
// version of its framework and the packed package, as a newcomer would have it. It must admit ten
// requests and refuse the next. Writes the seconds that this takes into docs/frameworks.md.
import { spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";

import { formatPages } from "./format.mjs";
import { filledPage } from "./frameworks_page.mjs";
import { root } from "./install.mjs";
import { inFolder, makeProject, must, packAnew } from "./package.mjs";

/**
 * @typedef {object} Recipe
 * @property {string} title
 * @property {string} packages The packages to install beside tidegate, the framework first.
 * @property {string} [build]
 * @property {string} [check] The settings, or else the file, by which the compiler checks its types.
 * @property {string} start It listens at PORT.
 * @property {string[]} paths Each of them has a limit of its own.
 */

const TYPES = "typescript@6 @types/node";

/** @type {Record<string, Recipe>} */
const RECIPES = {
  next: {
    title: "Next.js",
    packages: `next react react-dom @types/react ${TYPES}`,
    build: "next build",
    start: "next start -p PORT",
    paths: ["/api/hello", "/pages"],
  },
  sveltekit: {
    title: "SvelteKit",
    packages: "@sveltejs/kit @sveltejs/adapter-node @sveltejs/vite-plugin-svelte svelte vite " +
      TYPES,
    build: "vite build",
    check: "--types @sveltejs/kit,node src/hooks.server.ts",
    start: "node build/index.js",
    paths: ["/"],
  },
  nuxt: {
    title: "Nuxt",
    packages: `nuxt ${TYPES}`,
    build: "nuxt build",
    check: "-p .nuxt/tsconfig.server.json",
    start: "node .output/server/index.mjs",
    paths: ["/api/hello"],
  },
  react_router: {
    title: "React Router",
    packages: "@react-router/express@8.4 react-router@8.4 @react-router/dev@8.4 " +
      `@react-router/node@8.4 react react-dom vite isbot express ${TYPES}`,
    build: "react-router build",
    start: "node server.js",
    paths: ["/"],
  },
  astro: {
    title: "Astro",
    packages: `astro @astrojs/node ${TYPES}`,
    build: "astro build",
    check: "--types node src/middleware.ts",
    start: "node dist/server/entry.mjs",
    paths: ["/"],
  },
  cloudflare: {
    title: "Cloudflare Workers",
    packages: `wrangler ${TYPES}`,
    start: "wrangler dev --port PORT",
    paths: ["/"],
  },
  fastify_rate_limit: {
    title: "@fastify/rate-limit",
    packages: `@fastify/rate-limit fastify ${TYPES}`,
    check: "--types node app.ts",
    start: "node app.ts",
    paths: ["/"],
  },
};

/** The compiler, for those frameworks that do not call it themselves. */
const TSC = [
  ...["tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022"],
  ...["--module", "esnext", "--moduleResolution", "bundler", "--ignoreConfig"],
];

/** How many requests a recipe admits at once. */
const BURST = 10;

/** How long a framework may take to start, in milliseconds. */
const START = 60_000;

const chosen = process.argv.slice(2);
const rows = /** @type {string[][]} */ ([]);
await packAnew();
await inFolder("recipes", async (top) => {
  for (const [name, recipe] of Object.entries(RECIPES)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    rows.push(await runRecipe(top, name, recipe));
    console.log(rows.at(-1)?.join(" | "));
  }
  const page = join(root, "docs/frameworks.md");
  const text = filledPage(readFileSync(page, "utf8"));
  writeFileSync(page, chosen.length === 0 ? withTable(text) : text);
  await formatPages(["docs/frameworks.md"]);
});

/** @param {string} top @param {string} name @param {Recipe} recipe */
async function runRecipe(top, name, { title, packages, build, check, start, paths }) {
  const folder = join(top, name);
  const { status, seconds, output } = await makeProject(folder, versionsOf(packages), [
    // A newcomer's cache is empty.
    `--cache=${join(top, "cache")}`,
  ]);
  if (status !== 0) throw new Error(output);
  for (const from of [`.ci/recipes/${name}`, `examples/frameworks/${name}`]) {
    if (existsSync(join(root, from))) cpSync(join(root, from), folder, { recursive: true });
  }
  const run = (/** @type {string[]} */ words) => must(folder, words, environment(folder));
  const built = build === undefined ? 0 : (await run(build.split(" "))).seconds;
  if (check !== undefined) await run([...TSC, ...check.split(" ")]);
  const refused = await untilRefused(folder, start, paths);
  const [framework = ""] = /^@?[^@ ]+/.exec(packages) ?? [];
  const { version } = JSON.parse(
    readFileSync(join(folder, "node_modules", framework, "package.json"), "utf8"),
  );
  const times = [seconds, built, refused].map((time) => time.toFixed(0));
  return [`${title} ${version}`, ...times];
}

/** `react-router@8 vite`: their newest versions, or the newest of a major. @param {string} packages */
function versionsOf(packages) {
  return Object.fromEntries(
    packages.split(" ").map((each) => {
      const at = each.indexOf("@", 1);
      return at === -1 ? [each, "latest"] : [each.slice(0, at), each.slice(at + 1)];
    }),
  );
}

/** @param {string} folder @returns {Record<string, string>} */
function environment(folder) {
  return {
    PATH: `${join(folder, "node_modules/.bin")}:${process.env["PATH"]}`,
    NEXT_TELEMETRY_DISABLED: "1",
    NUXT_TELEMETRY_DISABLED: "1",
    ASTRO_TELEMETRY_DISABLED: "1",
    WRANGLER_SEND_METRICS: "false",
  };
}

/**
 * Starts the framework, and calls each path until it refuses; resolves to the seconds that this took.
 * @param {string} folder @param {string} start @param {string[]} paths
 */
async function untilRefused(folder, start, paths) {
  const begun = performance.now();
  const port = await freePort();
  const [command = "", ...args] = start.replace("PORT", String(port)).split(" ");
  const env = { ...process.env, ...environment(folder), PORT: String(port), HOST: "127.0.0.1" };
  const server = spawn(command, args, {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => output += text);
  }
  const ended = new Promise((resolve) => server.on("close", resolve));
  try {
    await listening(port);
    for (const path of paths) await checkLimit(port, path);
    return (performance.now() - begun) / 1_000;
  } catch (error) {
    throw new Error(`${folder}: ${error}\n${output}`, { cause: error });
  } finally {
    if (server.pid !== undefined) process.kill(-server.pid, "SIGKILL");
    await ended;
  }
}

/** @param {number} port @param {string} path */
async function checkLimit(port, path) {
  // While it is counted, a second may pass, which admits one more.
  for (let call = 1; call <= 2 * BURST; call++) {
    const { status, headers } = await get(port, path);
    const fields = JSON.stringify({ path, call, status, ...headers });
    const policy = headers["ratelimit-policy"] ?? headers["x-ratelimit-limit"];
    if (policy === undefined) throw new Error(`There are no fields of the limit: ${fields}`);
    if (status === 429 && call > BURST && Number(headers["retry-after"]) > 0) return;
    if (status !== 200) throw new Error(`Neither admitted nor refused: ${fields}`);
  }
  throw new Error(`${path} refused none of ${2 * BURST} requests`);
}

/**
 * @param {number} port @param {string} path @param {string} [localAddress]
 * @returns {Promise<{ status: number, headers: import("node:http").IncomingHttpHeaders }>}
 */
function get(port, path, localAddress = "127.0.0.1") {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, localAddress, agent: false };
    request(options, (response) => {
      response.resume().on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
        }));
    }).on("error", reject).end();
  });
}

/** Waits for any response, sent to a client that the test does not count. @param {number} port */
async function listening(port) {
  for (const end = performance.now() + START; performance.now() < end;) {
    try {
      await get(port, "/favicon.ico", "127.0.0.2");
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error(`It did not listen within ${START / 1_000} s`);
}

/** @returns {Promise<number>} */
function freePort() {
  const server = createServer();
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    })
  );
}

/** The page with the table of this run. @param {string} text */
function withTable(text) {
  const header = ["framework", "install", "build", "start, to the first 429"];
  const table = [header, header.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
  const marked = /(?<=<!-- seconds -->\n)[\s\S]*(?=<!-- end of seconds -->)/;
  return text.replace(marked, `\n${table.join("\n")}\n\n`);
}
