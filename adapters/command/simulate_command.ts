/*
 * `tidegate simulate`: makes traffic for users who have no log.
 */

import process from "node:process";

import { type Period, readPeriod } from "../../core/application_support.ts";
import { simulate, TRAFFIC_KINDS, type TrafficKind } from "../replay/simulate.ts";
import {
  type Command,
  defineCommand,
  integerOf,
  type Tools,
  usageError,
} from "./command_options.ts";

/** How many lines are printed at once. */
const LINES_AT_ONCE = 1_000;

/** The command `tidegate simulate`. */
export const simulateCommand: Command = defineCommand({
  name: "simulate",
  operands: "KIND",
  operandChoices: TRAFFIC_KINDS,
  summary: "print generated traffic to try limits on",
  about: `  KIND is ${TRAFFIC_KINDS.join(", ")}.
  tidegate simulate attack | tidegate replay - --rule gcra:60/1m`,
  options: {
    clients: { value: "100", text: "the number of clients" },
    rate: { value: "20", text: "requests a second, over all clients" },
    duration: { value: "10m", text: "how long the traffic lasts" },
    seed: { value: "1", text: "the seed; the same seed gives the same traffic" },
  },
  statuses: ["success", "the traffic could not be generated"],
  async run([kind], { clients, rate, duration = "10m", seed }, tools) {
    if (kind === undefined) {
      throw usageError(`simulate needs a kind of traffic: ${TRAFFIC_KINDS.join(", ")}`);
    }
    const traffic = simulate(kind as TrafficKind, {
      clients: integerOf(clients, "clients"),
      rate: integerOf(rate, "rate"),
      duration: readPeriod("simulate traffic", "--duration", duration as Period),
      seed: integerOf(seed, "seed"),
    });
    await printTraffic(traffic, tools);
    return 0;
  },
});

/** Prints traffic as a log with columns. */
async function printTraffic(traffic: ReturnType<typeof simulate>, { print }: Tools): Promise<void> {
  // A reader such as `head` may close the pipe early.
  let isClosed = false;
  process.stdout.once("error", () => isClosed = true);
  let lines = ["time,client"];
  for (const { at, key } of traffic) {
    lines.push(`${new Date(at).toISOString()},${key}`);
    if (lines.length < LINES_AT_ONCE) continue;
    print(lines.join("\n"));
    lines = [];
    await new Promise((resolve) => setImmediate(resolve));
    if (isClosed) return;
  }
  if (lines.length > 0) print(lines.join("\n"));
}
