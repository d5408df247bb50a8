// Serves what would be published to JSR over HTTP, as JSR does, and tries it on Deno from there.
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

import { child } from "./child.mjs";
import { root } from "./install.mjs";
import { entryPoints, readManifests } from "./manifests.mjs";
import { inFolder } from "./package.mjs";

/** Runs tests/package/published.test.mjs in a project whose tidegate comes by HTTP. */
export async function checkPublished() {
  const server = await servePublished();
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const file = "published.test.mjs";
  return inFolder("published", async (project) => {
    symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
    copyFileSync(join(root, "tests/package", file), join(project, file));
    const config = { nodeModulesDir: "manual", imports: importsFrom(`http://127.0.0.1:${port}/`) };
    writeFileSync(join(project, "deno.json"), JSON.stringify(config));
    return await child("deno", ["test", "-A", "--no-check", "--quiet", "--no-lock"], {
      cwd: project,
      env: { DENO_DIR: join(project, "cache") },
    });
  }).finally(() => server.close());
}

/** Serves what would be published. @returns {Promise<import("node:http").Server>} */
export function servePublished() {
  const included = /** @type {string[]} */ (readManifests().deno.publish.include);
  const server = createServer((request, response) => {
    const path = decodeURI(new URL(request.url ?? "/", "http://localhost").pathname).slice(1);
    const isPublished = included.some((place) => path === place || path.startsWith(`${place}/`));
    try {
      if (!isPublished) throw new Error(`${path} is not published`);
      const type = path.endsWith(".ts") ? "application/typescript" : "text/plain";
      response.setHeader("content-type", type).end(readFileSync(join(root, path)));
    } catch {
      response.writeHead(404).end();
    }
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

/**
 * The imports of a project: ours by HTTP, the others by name.
 * @param {string} url
 */
export function importsFrom(url) {
  const { deno, npm } = readManifests();
  const ours = Object.entries({ ...entryPoints(deno), "./bin": deno.exports["./bin"] })
    .map(([path, file]) => [path.replace(/^\./, npm.name), new URL(file, url).href]);
  const peers = Object.keys(npm.peerDependencies).map((name) => [name, deno.imports[name]]);
  return Object.fromEntries([...ours, ...peers, ["published/", url]]);
}
