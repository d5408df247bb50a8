/*
 * Finds a server that answers among the sentinels, or the nodes of a cluster. It does not wait out
 * each server that is down.
 */

import { patientTimer } from "../../optimistic/patient_timer.ts";
import { clearTimeout, setTimeout } from "../../own_timers.ts";

/**
 * Tries one server after another until one answers. The next attempt starts as soon as the previous
 * one has failed or used up its head start, and the first answer counts. Each attempt must end by
 * itself; all together may take `most` milliseconds in which the process ran.
 *
 * Source: "Happy Eyeballs", RFC 8305.
 *
 * @param headStart Milliseconds before the next attempt starts.
 * @param most The most milliseconds for all attempts together.
 * @param discard Takes an answer that came after the first.
 */
export function staggeredAttempts<Answer>(
  attempts: readonly (() => Promise<Answer>)[],
  headStart: number,
  most: number,
  discard: (late: Answer) => void,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let next = 0;
    let underWay = 0;
    let answered = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = patientTimer(most, () => fail(new Error(`No server answered within ${most} ms`)));

    function start(): void {
      clearTimeout(timer);
      const attempt = attempts[next++];
      if (attempt === undefined) return;
      underWay++;
      timer = setTimeout(start, headStart);
      attempt().then(take, failed);
    }

    function take(answer: Answer): void {
      if (answered) return discard(answer);
      end();
      resolve(answer);
    }

    function end(): void {
      answered = true;
      clearTimeout(timer);
      stop();
    }

    function fail(error: unknown): void {
      end();
      reject(error);
    }

    function failed(error: unknown): void {
      underWay--;
      if (answered) return;
      start();
      if (underWay === 0) fail(error);
    }

    if (attempts.length === 0) fail(new Error("There is no server to ask"));
    else start();
  });
}
