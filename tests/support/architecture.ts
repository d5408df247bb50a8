import type { SourceFile } from "./tree.ts";

/**
 * What the house rules forbid, found in the text of the sources alone.
 *
 * The sources are formatted by one formatter, so that an import or export statement starts in the
 * first column and a line of a comment never does; that is all the parsing there is.
 */

interface Import {
  readonly specifier: string;
  /** Whether nothing of it is left at run time. */
  readonly typeOnly: boolean;
}

const STATEMENT_REGEXP =
  /^(import|export)\b(\s+type\b)?(?:[^"'`;]*?\bfrom\b)?\s*["']([^"']+)["']/gm;
const DYNAMIC_REGEXP = /\bimport\s*\(\s*(?:["']([^"']+)["'])?/g;

/** What each folder may import of the repository. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: ["core"],
  stores: ["core", "stores"],
  adapters: ["core", "stores", "adapters"],
  "mod.ts": ["core", "stores"],
  examples: ["mod.ts", "core", "stores", "adapters", "examples"],
  bench: ["mod.ts", "core", "stores", "adapters", "examples", "bench", ".ci"],
  tests: ["mod.ts", "core", "stores", "adapters", "examples", "tests", ".ci"],
};

/** The folders whose files are published. */
const PUBLISHED: readonly string[] = ["core", "stores", "adapters", "mod.ts"];

/** The classes there are: errors, which are caught by class. */
const CLASSES: readonly string[] = [
  "RateLimitedError",
  "StoreUnavailableError",
  "ContentionError",
  "StoreFullError",
];

/** Core files that may read a clock. */
const CLOCK_READERS: readonly string[] = ["core/clock.ts", "core/limiter/limiter.ts"];

/**
 * Every breach of the rules, as `path: what is wrong`.
 *
 * @param files The sources, by their paths from the top of the repository.
 * @param peers The packages that adapters may import.
 */
export function breaches(files: readonly SourceFile[], peers: readonly string[]): string[] {
  return files.flatMap((file) =>
    [...importBreaches(file, peers), ...styleBreaches(file)].map((what) => `${file.path}: ${what}`)
  );
}

function importBreaches(file: SourceFile, peers: readonly string[]): string[] {
  const top = topOf(file.path);
  const allowed = MAY_IMPORT[top] ?? [];
  return importsOf(file.text).flatMap(({ specifier, typeOnly }) => {
    if (!specifier.startsWith(".")) {
      return mayUsePackage(file.path, specifier, typeOnly, peers) ? [] : [`imports "${specifier}"`];
    }
    const target = resolve(file.path, specifier);
    if (!allowed.includes(topOf(target))) return [`imports ${target}`];
    return /\.(ts|mjs|json)$/.test(target) ? [] : [`imports ${target} without its extension`];
  });
}

function mayUsePackage(
  path: string,
  specifier: string,
  typeOnly: boolean,
  peers: readonly string[],
): boolean {
  const top = topOf(path);
  // In bench and tests the package's own name is another copy: the built one, on Node.
  if (packageOf(specifier) === "tidegate") return top === "examples";
  if (!PUBLISHED.includes(top)) return true;
  if (top === "adapters") {
    return specifier.startsWith("node:") || peers.includes(packageOf(specifier));
  }
  return typeOnly && specifier === "redis" && path.startsWith("stores/redis");
}

function styleBreaches({ path, text }: SourceFile): string[] {
  const found: string[] = [];
  const code = withoutComments(text);
  const name = path.split("/").at(-1) ?? "";
  if (!/^[a-z][a-z0-9_]*(\.[a-z]+)*$/.test(name)) found.push("is not named in snake_case");
  if (!PUBLISHED.includes(topOf(path))) return found;
  if (/^export\s+default\b|\bas\s+default\b/m.test(code)) found.push("has a default export");
  if (/^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s/m.test(code)) found.push("has an enum");
  if (/^\s*(export\s+)?(declare\s+)?namespace\s/m.test(code)) found.push("has a namespace");
  for (const [, className = ""] of code.matchAll(/^\s*export\s+(?:abstract\s+)?class\s+(\w+)/gm)) {
    if (!CLASSES.includes(className)) found.push(`exports the class ${className}`);
  }
  if (topOf(path) === "core" && !CLOCK_READERS.includes(path)) {
    const impure = /\b(Date\.now|new Date|performance\.now|Math\.random|crypto)\b/.exec(code)?.[1];
    if (impure !== undefined) found.push(`calls ${impure}`);
  }
  return found;
}

function importsOf(text: string): Import[] {
  const statements = [...text.matchAll(STATEMENT_REGEXP)].map(([, , type, specifier = ""]) => ({
    specifier,
    typeOnly: type !== undefined,
  }));
  const dynamic = [...withoutComments(text).matchAll(DYNAMIC_REGEXP)].map(([, specifier = ""]) => ({
    specifier,
    typeOnly: false,
  }));
  return [...statements, ...dynamic];
}

function withoutComments(text: string): string {
  return text
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, "")
    .replace(/^\s*\/\/.*$/gm, "");
}

function topOf(path: string): string {
  return path.split("/")[0] ?? "";
}

function packageOf(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

function resolve(path: string, specifier: string): string {
  return new URL(specifier, `file:///${path}`).pathname.slice(1);
}
