/*
 * `tidegate doctor`: finds requests that slip past the limits of a server, or of the proxy in front
 * of it.
 */

import {
  type Command,
  defineCommand,
  integerOf,
  type Tools,
  usageError,
} from "./command_options.ts";
import { examine, examineAway } from "./doctor/examine.ts";

const MOST = 500;

/** Names of this machine in a URL. */
const LOOPBACK_REGEXP = /^(?:127\.[\d.]+|localhost|\[::1\])$/;

/** The command `tidegate doctor`. */
export const doctorCommand: Command = defineCommand({
  name: "doctor",
  operands: "URL",
  summary: "tries what slips past the limits of a server",
  about: `  URL is a page of your own that is limited, such as http://localhost/login.
  Spends its limit, then sends forged requests: to this URL's server only, at most as many as
  --requests says. Stop the service and run it with --away to see what clients get then.`,
  options: {
    requests: { value: String(MOST), text: "the most requests to send" },
    away: { text: "the limiting service is stopped: say whether its proxy is open or closed" },
  },
  statuses: [
    "nothing slips past",
    "something slips past, there is no limit, or not everything was tried",
  ],
  async run([text], { requests, away }, tools) {
    const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      throw usageError("doctor needs a URL: http://localhost/login");
    }
    if (away === true) {
      tools.print(`while the service is away, ${url.href} is ${await examineAway(url)}`);
      return 0;
    }
    return await diagnose(url, integerOf(requests, "requests") ?? MOST, tools);
  },
});

async function diagnose(url: URL, most: number, { print }: Tools): Promise<number> {
  const { sent, isLimited, isComplete, passed, isShared } = await examine(url, most, print);
  if (!isLimited) {
    print(`no limit was met within ${sent} requests: lower it for the test, or raise --requests`);
    return 1;
  }
  if (isShared === true) {
    print(
      "a client of another address is refused as well: all share one limit, because the proxy is " +
        "not trusted, or names no clients",
    );
  } else if (isShared === undefined) {
    print("whether clients of other addresses share this limit cannot be seen from here");
  }
  if (passed.length > 0 && LOOPBACK_REGEXP.test(url.hostname)) {
    print(
      "you ask from this machine, which the server may trust as a proxy (loopback): then ask from " +
        "another machine, or by the public name",
    );
  }
  print(`${sent} requests sent; ${passed.length === 0 ? "nothing" : passed.length} slipped past`);
  if (!isComplete) print("not everything was tried: raise --requests");
  return passed.length === 0 && isShared !== true && isComplete ? 0 : 1;
}
