// The imports of a source, found in its text alone.
//
// The sources are formatted by one formatter, so that an import or export statement starts in the
// first column and a line of a comment never does; that is all the parsing there is.

/**
 * @typedef {object} Import
 * @property {string} specifier
 * @property {boolean} typeOnly Whether nothing of it is left at run time.
 */

/** @typedef {{ readonly path: string, readonly text: string }} Source */

const STATEMENT_REGEXP =
  /^(?:import|export)\b(\s+type\b)?(?:[^"'`;]*?\bfrom\b)?\s*["']([^"']+)["']/gm;
const DYNAMIC_REGEXP = /\bimport\s*\(\s*(?:["']([^"']+)["'])?/g;

/**
 * @param {string} text
 * @returns {Import[]} One whose name is computed has the specifier `""`.
 */
export function importsOf(text) {
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

/**
 * The files of the repository that a file imports, by their paths from the top.
 * @param {Source} source
 * @returns {string[]}
 */
export function targetsOf({ path, text }) {
  return importsOf(text)
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier }) => resolvePath(path, specifier));
}

/**
 * @param {string} path
 * @param {string} specifier
 */
export function resolvePath(path, specifier) {
  return new URL(specifier, `file:///${path}`).pathname.slice(1);
}

/** @param {string} text */
export function withoutComments(text) {
  return text
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, "")
    .replace(/^\s*\/\/.*$/gm, "");
}
