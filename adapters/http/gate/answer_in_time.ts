import { withTimeout } from "../../../core/with_timeout.ts";

/** Milliseconds for which a request waits for each function of the options. */
const ANSWER_WITHIN = 10_000;

/**
 * The answer of an asynchronous function of the options, with a time limit, because requests that
 * wait without end fill a server.
 *
 * @param option The name of the option.
 * @throws {Error} If the answer does not come in time.
 */
export function answerInTime<Value>(
  option: string,
  answer: PromiseLike<Value>,
  within: number = ANSWER_WITHIN,
): Promise<Value> {
  return withTimeout(Promise.resolve(answer), within, () => {
    throw new Error(`Cannot limit the rate as ${option} must answer within ${within} ms`);
  });
}
