/**
 * The package `redis`. Its types stand in a file of their own, which no entry point's types lead to:
 * those must do without the package.
 *
 * @throws {Error} If the package is not installed; the message names the command that installs it.
 */
export async function loadRedis(): Promise<typeof import("redis")> {
  try {
    return await import("redis");
  } catch (cause) {
    const message =
      "Cannot use Redis as the package redis must be installed: run npm install redis";
    throw new Error(message, { cause });
  }
}
