// Runs jobs side by side, `most` at once, each after the one it needs.

/**
 * @template Result
 * @typedef {object} Job
 * @property {string} title Unique among the jobs.
 * @property {string} [after] The title of the job that must end first.
 * @property {() => Promise<Result>} run Never rejects.
 */

/**
 * @template Result
 * @template {Job<Result>} J
 * @param {readonly J[]} jobs In the order to start them.
 * @param {number} most
 * @param {{ onStart: (job: J) => void, onEnd: (job: J, result: Result) => void }} listeners
 */
export async function schedule(jobs, most, { onStart, onEnd }) {
  const waiting = [...jobs];
  /** @type {Map<string, Promise<void>>} */
  const running = new Map();
  const unfinished = new Set(jobs.map(({ title }) => title));
  const isReady = (/** @type {J} */ { after }) => after === undefined || !unfinished.has(after);
  while (unfinished.size > 0) {
    for (;;) {
      const index = running.size < most ? waiting.findIndex(isReady) : -1;
      if (index === -1) break;
      const [job] = /** @type {[J]} */ (waiting.splice(index, 1));
      onStart(job);
      running.set(job.title, job.run().then((result) => end(job, result)));
    }
    await Promise.race(running.values());
  }

  /** @param {J} job @param {Result} result */
  function end(job, result) {
    running.delete(job.title);
    unfinished.delete(job.title);
    onEnd(job, result);
  }
}
