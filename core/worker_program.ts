/**
 * The program of a worker: a file beside another one; the built package holds both as JavaScript. From JSR
 * the code comes by HTTPS, where a worker takes only files and data.
 */
export function workerProgram(url: string, name: string): URL {
  const program = new URL(`./${name}.${url.endsWith(".ts") ? "ts" : "js"}`, url);
  return program.protocol === "file:" ? program : new URL(
    `data:text/javascript,${encodeURIComponent(`import ${JSON.stringify(program.href)};`)}`,
  );
}
