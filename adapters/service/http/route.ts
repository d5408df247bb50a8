/*
 * A route of the service as data: who may call it, by which method, and what answers.
 */

import type { MaybePromise } from "../../../core/toolkit.ts";
import type { IncomingCall } from "./incoming_call.ts";
import type { RequestTarget } from "./request_target.ts";
import type { ServiceAnswer } from "./service_answer.ts";

/** What answers a call; its target has been found to be right. */
export type AnswerCall = (call: IncomingCall, target: RequestTarget) => MaybePromise<ServiceAnswer>;

/** A route of the service. */
export interface Route {
  /** What its calls are counted as. */
  readonly name: string;
  /** The methods that it takes, as the field Allow lists them; any of them if `undefined`. */
  readonly allow: "POST" | "GET, HEAD" | undefined;
  /** Whether a call must bring the token, where there is one: to change anything, or to see a key. */
  readonly needsToken: boolean;
  /** Answers a call that has no body, or whose body is of no interest. */
  readonly answer?: AnswerCall | undefined;
  /** Answers a body. */
  readonly answerBody?: ((text: string) => MaybePromise<ServiceAnswer>) | undefined;
}

/** A route that answers bodies. */
export function bodyRoute(
  name: string,
  answerBody: (text: string) => MaybePromise<ServiceAnswer>,
): Route {
  return { name, allow: "POST", needsToken: true, answerBody };
}

/** A route that shows something to anybody. */
export function getRoute(answer: AnswerCall): Route {
  return { name: "other", allow: "GET, HEAD", needsToken: false, answer };
}
