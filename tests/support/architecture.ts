import { importsOf, resolvePath, targetsOf, withoutComments } from "./imports.ts";
import type { SourceFile } from "./tree.ts";

/* The house rules, checked in the text of the sources alone. */

/** The parts of the repository that each folder may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: ["core"],
  stores: ["core", "stores"],
  adapters: ["core", "stores", "adapters"],
  "mod.ts": ["core", "stores"],
  examples: ["mod.ts", "core", "stores", "adapters", "examples"],
  bench: ["mod.ts", "core", "stores", "adapters", "examples", "bench", ".ci"],
  tests: ["mod.ts", "core", "stores", "adapters", "examples", "tests", ".ci"],
};

/** Applications: they could be packages of their own, and use the library as strangers do. */
export const APPLICATIONS: readonly string[] = [
  "adapters/service/",
  "adapters/replay/",
  "adapters/command/",
];

/** Modules of the library that applications may import beside its entry points. */
const TOOLKIT: readonly string[] = [
  "core/application_support.ts",
  "adapters/optional_packages/load_package.ts",
];

/** The folders whose files are published. */
const PUBLISHED: readonly string[] = ["core", "stores", "adapters", "mod.ts"];

/** The classes there are: errors, which are caught by class. */
const CLASSES: readonly string[] = [
  "RateLimitedError",
  "StoreUnavailableError",
  "ContentionError",
  "StoreFullError",
  "StoreOverloadedError",
  "DriverError",
];

/** Core files that may read a clock, or take random numbers. */
const IMPURE: readonly string[] = [
  "core/clock.ts",
  "core/faked_date.ts",
  "core/limiter/permit_ids.ts",
  "core/read_clock.ts",
];

/**
 * Every breach of the rules, as `path: what is wrong`.
 *
 * @param files The sources, by their paths from the top of the repository.
 * @param peers The packages that adapters may import.
 * @param entryPoints The files that `exports` names.
 */
export function breaches(
  files: readonly SourceFile[],
  peers: readonly string[],
  entryPoints: readonly string[],
): string[] {
  const found = files.flatMap((file) =>
    [
      ...importBreaches(file, peers),
      ...applicationBreaches(file, entryPoints),
      ...styleBreaches(file),
    ].map((what) => `${file.path}: ${what}`)
  );
  return [...found, ...circleBreaches(files)];
}

function importBreaches(file: SourceFile, peers: readonly string[]): string[] {
  const top = topOf(file.path);
  const allowed = isApplication(file.path)
    ? [...MAY_IMPORT["adapters"]!, "mod.ts"]
    : MAY_IMPORT[top] ?? [];
  return importsOf(file.text).flatMap(({ specifier, typeOnly }) => {
    if (!specifier.startsWith(".")) {
      return mayUsePackage(file.path, specifier, typeOnly, peers) ? [] : [`imports "${specifier}"`];
    }
    const target = resolvePath(file.path, specifier);
    if (!allowed.includes(topOf(target))) return [`imports ${target}`];
    return /\.(ts|mjs|json)$/.test(target) ? [] : [`imports ${target} without its extension`];
  });
}

function applicationBreaches(file: SourceFile, entryPoints: readonly string[]): string[] {
  if (!PUBLISHED.includes(topOf(file.path))) return [];
  const targets = targetsOf(file);
  if (!isApplication(file.path)) {
    return targets.filter(isApplication).map((target) => `imports the application's ${target}`);
  }
  return targets
    .filter((target) =>
      !isApplication(target) && !entryPoints.includes(target) && !TOOLKIT.includes(target)
    )
    .map((target) => `imports ${target}, which is no entry point`);
}

function isApplication(path: string): boolean {
  return APPLICATIONS.some((room) => path.startsWith(room));
}

/** The files on circles of imports, imports of types among them, and on ways between circles. */
function circleBreaches(files: readonly SourceFile[]): string[] {
  let left = new Map(files.map((file) => [file.path, targetsOf(file)]));
  for (let size = -1; size !== left.size;) {
    size = left.size;
    const imported = new Set([...left.values()].flat());
    const onCircle = [...left].filter(([path]) => imported.has(path));
    const names = new Set(onCircle.map(([path]) => path));
    left = new Map(
      onCircle
        .map(([path, targets]) => [path, targets.filter((target) => names.has(target))] as const)
        .filter(([, targets]) => targets.length > 0),
    );
  }
  return [...left].map(([path, targets]) =>
    `${path}: imports itself by way of ${targets.join(", ")}`
  );
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
  if (topOf(path) === "core" && !IMPURE.includes(path)) {
    const impure = /\b(Date\.now|new Date|performance\.now|Math\.random|crypto)\b/.exec(code)?.[1];
    if (impure !== undefined) found.push(`calls ${impure}`);
  }
  return found;
}

function topOf(path: string): string {
  return path.split("/")[0] ?? "";
}

function packageOf(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}
