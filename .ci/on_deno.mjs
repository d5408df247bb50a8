// Imports the test files of TIDEGATE_FILES, as Deno would load all modules again for each of them.
import process from "node:process";

for (const file of process.env.TIDEGATE_FILES?.split(",") ?? []) await import(`../${file}`);
