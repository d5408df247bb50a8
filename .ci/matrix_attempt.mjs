// Runs one example of the matrix, and prints in a line whether it works.

/** @param {string} name @param {() => Promise<unknown>} run */
export async function attempt(name, run) {
  const result = await run().then(() => "works", (error) => String(error?.message ?? error));
  console.log(`try ${name} ${result.split("\n")[0]}`);
}
