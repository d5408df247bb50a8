/*
 * Examines the limit of a URL as an attacker would: uses it up, then tries requests that may slip
 * past it.
 */

import { type ForgedRequest, forgedRequests, plainRequest } from "./forged_requests.ts";
import { type ProbeAnswer, sendRequest } from "./send_request.ts";

/** The result of an examination. */
export interface Examination {
  /** How many requests were sent. */
  readonly sent: number;
  /** Whether a limit was met. */
  readonly isLimited: boolean;
  /** Whether all forged requests were tried. */
  readonly isComplete: boolean;
  /** Forged requests that passed the limit. */
  readonly passed: readonly string[];
  /** Whether clients of another address are refused, too; `undefined` if that cannot be seen. */
  readonly isShared: boolean | undefined;
}

/** Statuses of refusals: some proxies answer with 403 or 503 instead of 429. */
const REFUSALS: readonly number[] = [429, 403, 503];

/**
 * Examines a URL. It sends requests only to the URL's server, and follows no redirect.
 *
 * @param most The most requests to send.
 * @param print Receives the findings, a line each.
 */
export async function examine(
  url: URL,
  most: number,
  print: (line: string) => void,
): Promise<Examination> {
  let sent = 0;
  const hasRoom = () => sent < most;
  const send = (request: ForgedRequest, from?: string): Promise<ProbeAnswer> => {
    sent++;
    return sendRequest(url, request, from);
  };
  const plain = plainRequest(url);
  const first = await send(plain);
  if (first === undefined) throw new Error(`Cannot examine ${url.host} because it does not answer`);
  if (REFUSALS.includes(first.status)) {
    throw new Error(
      `Cannot examine ${url.href} as its first answer must not be a refusal: it is ${first.status}`,
    );
  }

  /** Uses the limit up; answers whether the plain request is then refused. */
  async function spend(): Promise<boolean> {
    while (hasRoom()) {
      const answer = await send(plain);
      if (answer !== undefined && REFUSALS.includes(answer.status)) return true;
    }
    return false;
  }

  /** Whether a request passes while the plain one is refused, before it and after it. */
  async function passes(request: ForgedRequest, from?: string): Promise<boolean | undefined> {
    for (let tries = 0; tries < 3 && hasRoom(); tries++) {
      const answer = await send(request, from);
      if (answer === undefined || !isServed(answer, first!, request)) return false;
      if (!hasRoom()) return undefined;
      const after = await send(plain);
      // Otherwise the limit has units again, and any request passes.
      if (after !== undefined && REFUSALS.includes(after.status)) return true;
      if (!await spend()) return undefined;
    }
    return undefined;
  }

  if (!await spend()) {
    return { sent, isLimited: false, isComplete: false, passed: [], isShared: undefined };
  }
  print(`${url.href} refuses after ${sent - 1} requests`);
  const passed: string[] = [];
  for (const request of forgedRequests(url)) {
    if (!hasRoom()) break;
    if (await passes(request) !== true) continue;
    passed.push(request.what);
    print(`slips past: ${request.what}`);
  }
  const other = /^127\.|^localhost$/.test(url.hostname) ? "127.0.0.99" : undefined;
  const alone = other === undefined || !hasRoom() ? undefined : await passes(plain, other);
  const isShared = alone === undefined ? undefined : !alone;
  return { sent, isLimited: true, isComplete: hasRoom(), passed, isShared };
}

/** Whether a request got the same answer as the first request. */
function isServed(
  { status, body }: NonNullable<ProbeAnswer>,
  first: NonNullable<ProbeAnswer>,
  { method }: ForgedRequest,
): boolean {
  return status === first.status && (method === "HEAD" || body === first.body);
}

/** Describes the answers to a few requests while the service is unreachable. */
export async function examineAway(url: URL): Promise<string> {
  const answers = [];
  for (let times = 0; times < 3; times++) answers.push(await sendRequest(url, plainRequest(url)));
  const statuses = answers.map((answer) => answer?.status ?? 0);
  const open = statuses.filter((status) => status >= 200 && status < 400).length;
  if (open === statuses.length) return "open: everybody is served, without limits";
  return open === 0 ? `closed: nobody is served (status ${statuses[0]})` : "some are served";
}
