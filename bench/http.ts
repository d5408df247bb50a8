/*
 * The cost of limiting a request in the gate, which every adapter is made of: one limit, two limits
 * of one store, and two gates in a row. `--beside=FOLDER` times the gates of
 * another checkout in the same rounds. `--one` times one limit alone: an engine compiles a gate
 * otherwise in a process that has gates of several limits as well, and another checkout may have none.
 *
 * Figures are processor time. The flaw: no socket, and no work of a server between two requests.
 */

import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { compare, finish, row, runtime, type Variant } from "./measure.ts";

interface Asking {
  readonly address: string;
  readonly user: string;
}

const SHORT = process.argv.includes("--short");
const OPERATIONS = SHORT ? 20_000 : 100_000;
const ROUNDS = SHORT ? 3 : 15;
const WIDE = { limit: 100_000, period: "1h", burst: 100_000 } as const;
const SOURCE = {
  address: ({ address }: Asking) => address,
  header: () => null,
  signal: () => undefined,
};
const ASKINGS = Array.from({ length: 1_024 }, (_, index): Asking => ({
  address: `192.0.${index >> 8}.${index & 255}`,
  user: `user:${index % 77}`,
}));
const beside = process.argv.find((word) => word.startsWith("--beside="))?.slice(9);

/** The gates of a checkout: those of one limiter and, where there are several limits, of two. */
async function gatesOf(folder: URL) {
  const load = async (path: string) => await import(new URL(path, folder).href);
  const { gcra, limiter, memoryStore }: typeof import("../mod.ts") = await load("mod.ts");
  const { gate }: typeof import("../adapters/http/http.ts") = await load("adapters/http/http.ts");
  const userKey = ({ user }: Asking) => user;

  function limits() {
    const store = memoryStore();
    return {
      address: limiter(gcra(WIDE), { store, prefix: "address" }),
      user: limiter(gcra({ ...WIDE, name: "user" }), { store, prefix: "user" }),
    };
  }

  function one(): Variant {
    return decided([gate({ limiter: limits().address }, SOURCE)]);
  }

  function row(): Variant {
    const { address, user } = limits();
    return decided([
      gate({ limiter: address }, SOURCE),
      gate({ limiter: user, key: userKey }, SOURCE),
    ]);
  }

  function two(): Variant {
    const { address, user } = limits();
    return decided([
      gate({ limits: [{ limiter: address }, { limiter: user, key: userKey }] }, SOURCE),
    ]);
  }

  return { one, row, two };
}

/** Every request through all of the gates. */
function decided(
  gates: readonly ((request: Asking, info: undefined) => unknown)[],
): Variant {
  return (operations) => {
    let fields = 0;
    for (let index = 0; index < operations; index++) {
      const asking = ASKINGS[index & 1_023]!;
      for (let at = 0; at < gates.length; at++) {
        const verdict = gates[at]!(asking, undefined) as { readonly headers: readonly unknown[] };
        fields += verdict.headers.length;
      }
    }
    return fields;
  };
}

const own = await gatesOf(new URL("../", import.meta.url));
const other = beside === undefined
  ? undefined
  : await gatesOf(pathToFileURL(`${resolve(beside)}/`));
const single: Record<string, Variant> = {
  "one limit": own.one(),
  ...(other && { "one limit, beside": other.one() }),
};
const several: Record<string, Variant> = {
  "two limits of one store": own.two(),
  ...(other && { "two limits of one store, beside": other.two() }),
  "two gates in a row": own.row(),
  ...(other && { "two gates in a row, beside": other.row() }),
};
const variants = process.argv.includes("--one") ? single : { ...single, ...several };
const userTime = () => process.cpuUsage().user / 1_000;
const figures = compare(variants, OPERATIONS, ROUNDS, userTime);

console.log(`\n${runtime()}: ns of processor time per request, and times one limit`);
for (const [name, figure] of Object.entries(figures)) {
  console.log(row(name, [figure, `${(figure / figures["one limit"]!).toFixed(2)}x`]));
}
finish();
