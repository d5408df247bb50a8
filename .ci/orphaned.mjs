// A script that npm runs has a shell between npm and itself. When npm receives a signal, the shell
// ends without a word to the script, which would go on alone.
import process from "node:process";

/**
 * Calls back when the npm that runs this script has ended.
 * @param {() => void} act
 */
export function whenOrphaned(act) {
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    act();
  }, 200);
  watch.unref();
}
