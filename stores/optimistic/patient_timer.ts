/** The parts into which a time is divided. */
const PARTS = 4;

/**
 * Calls back after that many milliseconds in which the process ran. They are four parts, and each
 * counts once, however late its timer is. So a process that was held up does not blame the server: in
 * the remaining parts it reads the replies that came in time.
 *
 * @returns A function that stops the timer.
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
