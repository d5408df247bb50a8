import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A file of the repository, by its path from the top, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const root = new URL("../../", import.meta.url);

/** The text of a file, by its path from the top of the repository. */
export function readText(path: string): string {
  return readFileSync(new URL(path, root), "utf8");
}

/** The paths with this ending under the given folders and files. Missing ones are left out. */
export function pathsOf(places: readonly string[], ending: string): string[] {
  const present = new Set(readdirSync(root));
  return places
    .filter((place) => present.has(place))
    .flatMap((place) => place.endsWith(ending) ? [place] : pathsUnder(`${place}/`, ending))
    .sort();
}

/** The files with this ending under the given folders and files. */
export function filesOf(places: readonly string[], ending: string): SourceFile[] {
  return pathsOf(places, ending).map((path) => ({ path, text: readText(path) }));
}

/** Whether the repository holds a file at this path. */
export function exists(path: string): boolean {
  try {
    readFileSync(new URL(path, root));
    return true;
  } catch {
    return false;
  }
}

/** The top folder of the repository. */
export const rootPath: string = fileURLToPath(root);

function pathsUnder(folder: string, ending: string): string[] {
  return readdirSync(new URL(folder, root), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules") return [];
    if (entry.isDirectory()) return pathsUnder(`${folder}${entry.name}/`, ending);
    return entry.name.endsWith(ending) ? [`${folder}${entry.name}`] : [];
  });
}
