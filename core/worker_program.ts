/**
 * The URL of a worker's program, a file in the same folder as the file at `url`. Both are
 * TypeScript or, in the built package, JavaScript. Code from JSR is loaded over HTTPS, from which a
 * worker cannot be started, so the program is then a small module in a `data:` URL that imports it.
 */
export function workerProgram(url: string, name: string): URL {
  const program = new URL(`./${name}.${url.endsWith(".ts") ? "ts" : "js"}`, url);
  return program.protocol === "file:" ? program : new URL(
    `data:text/javascript,${encodeURIComponent(`import ${JSON.stringify(program.href)};`)}`,
  );
}
