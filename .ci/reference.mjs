// `npm run reference`: the reference of every public symbol as static pages with a search, in
// dist/reference, and a look at all of their links.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { pathToFileURL } from "node:url";
import process from "node:process";

import { child } from "./child.mjs";
import { install, root } from "./install.mjs";
import { entryPoints, readManifests } from "./manifests.mjs";

const FOLDER = join(root, "dist/reference");

/**
 * Links between pages that lead nowhere: to a file that is missing, or a section of it.
 * @param {string} folder
 */
export function brokenLinks(folder) {
  const pages = pagesOf(folder);
  /** @type {Map<string, Set<string>>} */
  const sections = new Map();
  /** @param {string} page */
  const sectionsOf = (page) => {
    const known = sections.get(page);
    if (known !== undefined) return known;
    const text = textOf(join(folder, page));
    const ids = new Set([...text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id));
    sections.set(page, ids);
    return ids;
  };
  return pages.flatMap((page) => {
    const text = textOf(join(folder, page));
    const links = new Set(
      [...text.matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, link = ""]) => link),
    );
    return [...links].filter((link) => {
      if (/^(https?:|data:|mailto:)/.test(link)) return false;
      const [path = "", section = ""] = link.split("#").map(decodeURIComponent);
      const target = path === "" ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(folder, target))) return true;
      return section !== "" && target.endsWith(".html") && !sectionsOf(target).has(section);
    }).map((link) => `${page}: ${link}`);
  });
}

/** @param {string} folder */
function pagesOf(folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".html"));
}

/**
 * Sources are linked to where they are published, not to this machine; and type parameters of inner
 * functions, for which deno writes links but no section, are not linked.
 * @param {string} file
 */
function mendLinks(file) {
  const here = pathToFileURL(`${root}/`).href.replace(/\/+$/, "/");
  const there = readManifests().npm.homepage.replace("#readme", "/blob/main/");
  const escaped = (/** @type {string} */ link) => link.replaceAll("/", "&#x2F;");
  const text = readFileSync(file, "utf8");
  const linked = text.replaceAll(here, there).replaceAll(escaped(here), escaped(there));
  const parameter = /<a href="#(type_param_\w+)"[^>]*>([^<]*)<\/a>/g;
  const kept = (/** @type {string} */ link, /** @type {string} */ id, /** @type {string} */ name) =>
    linked.includes(` id="${id}"`) ? link : name;
  writeFileSync(file, linked.replace(parameter, kept));
}

/**
 * A page, its character references resolved as far as links have them.
 * @param {string} file
 */
function textOf(file) {
  return readFileSync(file, "utf8").replaceAll("&#x2F;", "/").replaceAll("&amp;", "&");
}

/** Writes the pages; answers the links that lead nowhere. */
async function writeReference() {
  install();
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const entries = Object.values(entryPoints(readManifests().deno));
  const options = ["doc", "--html", "--quiet", "--name=tidegate", `--output=${FOLDER}`];
  const { status, output } = await child("deno", [...options, ...entries]);
  if (status !== 0) throw new Error(`Cannot write the reference:\n${output}`);
  for (const name of pagesOf(FOLDER)) mendLinks(join(FOLDER, name));
  return brokenLinks(FOLDER);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const broken = await writeReference();
  console.log(`${join(FOLDER, "index.html")}: ${broken.length} broken links`);
  for (const link of broken.slice(0, 20)) console.log(link);
  if (broken.length > 0) process.exitCode = 1;
}
