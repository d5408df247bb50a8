/** Into how many parts a time is divided. */
const PARTS = 4;

/**
 * Calls back after so many milliseconds in which the process ran. They are counted in four parts, each
 * of which counts once however late its timer is: a process that was held up does not take itself
 * for a dead server, because it reads in the other parts what came in time.
 *
 * @returns Stops it.
 */
export function patientTimer(milliseconds: number, callback: () => void): () => void {
  let left = PARTS;
  const part = Math.ceil(milliseconds / PARTS);
  let timer = setTimeout(turn, part);

  function turn(): void {
    if (--left > 0) timer = setTimeout(turn, part);
    else callback();
  }

  return () => clearTimeout(timer);
}
