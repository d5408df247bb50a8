/*
 * The imports of a source, found in its text alone.
 *
 * The sources are formatted by one formatter, so that an import or export statement starts in the
 * first column and a line of a comment never does; that is all the parsing there is.
 */

import type { SourceFile } from "./tree.ts";

/** The import of one statement. */
export interface Import {
  /** `""` if it is computed. */
  readonly specifier: string;
  /** Whether nothing of it is left at run time. */
  readonly typeOnly: boolean;
}

const STATEMENT_REGEXP =
  /^(?:import|export)\b(\s+type\b)?(?:[^"'`;]*?\bfrom\b)?\s*["']([^"']+)["']/gm;
const DYNAMIC_REGEXP = /\bimport\s*\(\s*(?:["']([^"']+)["'])?/g;

/** The imports of a source. */
export function importsOf(text: string): Import[] {
  const statements = [...text.matchAll(STATEMENT_REGEXP)].map(([, type, specifier = ""]) => ({
    specifier,
    typeOnly: type !== undefined,
  }));
  const dynamic = [...withoutComments(text).matchAll(DYNAMIC_REGEXP)].map(([, specifier = ""]) => ({
    specifier,
    typeOnly: false,
  }));
  return [...statements, ...dynamic];
}

/** The files of the repository that a file imports, by their paths from the top. */
export function targetsOf({ path, text }: SourceFile): string[] {
  return importsOf(text)
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier }) => resolvePath(path, specifier));
}

/** The path from the top of what a file names relative to itself. */
export function resolvePath(path: string, specifier: string): string {
  return new URL(specifier, `file:///${path}`).pathname.slice(1);
}

/** A source without its comments of whole lines. */
export function withoutComments(text: string): string {
  return text
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, "")
    .replace(/^\s*\/\/.*$/gm, "");
}
