/*
 * `tidegate simulate`: traffic for those who have no log at hand.
 */

import process from "node:process";
import { parseArgs } from "node:util";

import { fixedWindow, type Period } from "../../mod.ts";
import { simulate, TRAFFIC_KINDS, type TrafficKind } from "../replay/simulate.ts";
import { integerOf, type Tools } from "./command_options.ts";

/** What `tidegate simulate --help` says. */
export const SIMULATE_HELP: string =
  `tidegate simulate KIND   prints traffic, to try limits on: tidegate simulate attack |
                         tidegate replay - --rule gcra:60/1m

KIND is ${TRAFFIC_KINDS.join(", ")}

--clients 100      how many clients there are
--rate 20          requests a second, of all of them together
--duration 10m     how long
--seed 1           the same seed makes the same traffic`;

const OPTIONS = {
  clients: { type: "string" },
  rate: { type: "string" },
  duration: { type: "string" },
  seed: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** How many lines are printed at once. */
const LINES_AT_ONCE = 1_000;

/** Prints traffic as a log with columns; resolves to the exit status. */
export async function simulateCommand(
  args: readonly string[],
  { print }: Tools,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: OPTIONS,
    allowPositionals: true,
  });
  const [kind] = positionals;
  if (values.help === true || kind === undefined) {
    print(SIMULATE_HELP);
    return values.help === true ? 0 : 2;
  }
  const { duration = "10m" } = values;
  const traffic = simulate(kind as TrafficKind, {
    clients: integerOf(values.clients, "clients"),
    rate: integerOf(values.rate, "rate"),
    // The policy of a limit says how many milliseconds its period has.
    duration: fixedWindow({ limit: 1, period: duration as Period }).policies[0]!.period,
    seed: integerOf(values.seed, "seed"),
  });
  // Who reads may have seen enough, as `head` has.
  let isClosed = false;
  process.stdout.once("error", () => isClosed = true);
  let lines = ["time,client"];
  for (const { at, key } of traffic) {
    lines.push(`${new Date(at).toISOString()},${key}`);
    if (lines.length < LINES_AT_ONCE) continue;
    print(lines.join("\n"));
    lines = [];
    await new Promise((resolve) => setImmediate(resolve));
    if (isClosed) return 0;
  }
  if (lines.length > 0) print(lines.join("\n"));
  return 0;
}
