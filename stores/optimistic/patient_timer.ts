import { clearTimeout, setTimeout } from "../own_timers.ts";

/** The parts into which a time is divided. */
const PARTS = 4;

/**
 * Calls back after that many milliseconds in which the process ran. They are four parts, and each
 * counts once, however late its timer is. So a process that was held up does not blame the server: in
 * the remaining parts it reads the replies that came in time.
 *
 * @param keepsAlive Whether it keeps the process alive.
 * @returns A function that stops the timer.
 */
export function patientTimer(
  milliseconds: number,
  callback: () => void,
  keepsAlive = true,
): () => void {
  let left = PARTS;
  const part = Math.ceil(milliseconds / PARTS);
  let timer = wait();

  function wait(): ReturnType<typeof setTimeout> {
    const waiting = setTimeout(turn, part);
    if (!keepsAlive) (waiting as { unref?(): void }).unref?.();
    return waiting;
  }

  function turn(): void {
    if (--left > 0) timer = wait();
    else callback();
  }

  return () => clearTimeout(timer);
}
