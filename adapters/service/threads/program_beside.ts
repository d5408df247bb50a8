/** What a worker runs: a file beside another one; the built package holds both as JavaScript. */
export function programBeside(url: string, name: string): URL {
  return new URL(`./${name}.${url.endsWith(".ts") ? "ts" : "js"}`, url);
}
