import { patientTimer } from "./patient_timer.ts";

/**
 * Tries one server after the other until one answers, and waits for none that is silent: the next
 * attempt starts as soon as the one before has failed, or has had its head start; the first answer
 * counts. Each attempt has to end by itself; nobody waits for them longer than so many milliseconds in
 * which the process ran.
 *
 * Source: "Happy Eyeballs", RFC 8305.
 *
 * @param headStart Milliseconds that each has for itself.
 * @param most The most milliseconds of all.
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
    const stop = patientTimer(most, () => fail(new Error(`Nobody answered within ${most} ms`)));

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
