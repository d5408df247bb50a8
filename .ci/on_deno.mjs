// Imports the test files of TIDEGATE_FILES, because Deno would load all modules again for each of
// them.
import { test } from "node:test";
import process from "node:process";

for (const file of process.env["TIDEGATE_FILES"]?.split(",") ?? []) {
  try {
    await import(`../${file}`);
  } catch (error) {
    // Thrown here, Deno would run what it has by then, and call the run a success.
    test(`${file} is loaded`, () => {
      throw error;
    });
  }
}
