// The recipes of examples/frameworks, as docs/frameworks.md shows them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../examples/frameworks/", import.meta.url));

/** A block of code whose first line names a file, and what follows to its end. */
const BLOCK = /(?<=^```[^\n]*\n)\/\/ (\S+)[\s\S]*?(?=^```$)/gm;

/**
 * The page with the text of each file that it names, which stands in the folder of some framework.
 * @param {string} page
 * @throws {Error} If the page leaves a file out, or names one that is not there.
 */
export function filledPage(page) {
  const files = new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length).replace(/^[^/\\]+./, ""), path]),
  );
  const filled = page.replaceAll(BLOCK, (_block, name) => {
    const path = files.get(name);
    if (path === undefined) throw new Error(`docs/frameworks.md names ${name}, which is not there`);
    files.delete(name);
    return readFileSync(path, "utf8");
  });
  const [left] = files.values();
  if (left !== undefined) throw new Error(`docs/frameworks.md does not show ${left}`);
  return filled;
}
