/*
 * How good advice is: draws logs of which it is known who is who, takes the advice about each, and
 * counts whom its limits would have refused.
 */

import { advise } from "../adapters/replay/replay.ts";
import { refusedBy } from "../adapters/replay/advise/choose_limits.ts";
import { clientNeeds } from "../adapters/replay/advise/client_needs.ts";
import { LOGS_IN, WRITES } from "../adapters/replay/log/request_fields.ts";
import { markedTrace, requestsOf, type Trace } from "../adapters/replay/log/trace.ts";
import { ATTACKS, type DrawnLog, drawnLog, type Role } from "./drawn_traffic.ts";

/** The outcome of the advice for one log. */
export interface LogOutcome {
  readonly seed: number;
  readonly attackers: number;
  /** The people, offices and probes that were refused. */
  readonly refused: readonly Role[];
  /** Whether nobody of them was, and every attacker above 1.5 times the busiest of them was. */
  readonly isPerfect: boolean;
  /**
   * Each attacking address: its kind, how many times as much as they it needs, and whether it was
   * refused.
   */
  readonly attacks: readonly (readonly [role: Role, times: number, isRefused: boolean])[];
}

const ORDINARY: readonly Role[] = ["person", "office", "probe"];

/** Takes the advice about a drawn log, and finds the clients that it refuses. */
export async function studyLog(seed: number, attackers?: number): Promise<LogOutcome> {
  const drawn = drawnLog(seed, attackers);
  const { trace, roles } = drawn;
  const { parts } = await advise(trace);
  const refused = new Set<number>();
  for (const { part, limits } of parts) {
    const bit = part === "logins" ? LOGS_IN : part === "writes" ? WRITES : 0;
    const own = bit === 0 ? trace : markedTrace(trace, bit);
    for (const client of refusedBy(limits, requestsOf(own, everybody(trace)))) refused.add(client);
  }
  const times = timesOf(drawn);
  const attacks = roles.flatMap((role, client) =>
    (ATTACKS as readonly Role[]).includes(role)
      ? [[role, times[client]!, refused.has(client)] as const]
      : []
  );
  const wrong = roles.filter((role, client) => ORDINARY.includes(role) && refused.has(client));
  const isPerfect = wrong.length === 0 &&
    attacks.every(([, times, isRefused]) => isRefused || times <= 1.5);
  return { seed, attackers: drawn.attackers, refused: wrong, isPerfect, attacks };
}

/** How many times what the busiest ordinary client needs each client needs, in its worst span. */
function timesOf({ trace, roles }: DrawnLog): readonly number[] {
  const { most } = clientNeeds(trace, 0);
  const bounds = most.map((needs) =>
    needs.reduce(
      (bound, need, c) => ORDINARY.includes(roles[c]!) ? Math.max(bound, need) : bound,
      1,
    )
  );
  return roles.map((_, client) =>
    Math.max(...most.map((own, span) => own[client]! / bounds[span]!))
  );
}

function everybody({ clients }: Trace): Uint8Array {
  return new Uint8Array(clients.length).fill(1);
}

/** The outcomes of many logs, in a table for people. */
export function outcomeTable(outcomes: readonly LogOutcome[]): string {
  const share = (part: number, whole: number) =>
    `${part} of ${whole}${whole === 0 ? "" : ` (${(100 * part / whole).toFixed(1)} %)`}`;
  const wrong = outcomes.flatMap(({ refused }) => refused);
  const rows = ATTACKS.map((kind) => {
    const own = outcomes.flatMap(({ attacks }) => attacks.filter(([role]) => role === kind));
    const between = (from: number, to: number) => {
      const near = own.filter(([, times]) => times > from && times <= to);
      return share(near.filter(([, , isRefused]) => isRefused).length, near.length);
    };
    return [kind, between(0, 1.5), between(1.5, 2), between(2, 3), between(3, Infinity)];
  });
  const byAttackers = [0, 1, 2, 3, 4, 5].map((attackers) => {
    const own = outcomes.filter((outcome) => outcome.attackers === attackers);
    return `${attackers}: ${share(own.filter(({ isPerfect }) => isPerfect).length, own.length)}`;
  });
  const people = outcomes.filter(({ refused }) => refused.length === 0).length;
  const perfect = outcomes.filter(({ isPerfect }) => isPerfect).length;
  return [
    `No person, office or probe refused: ${share(people, outcomes.length)} logs`,
    `Perfect: ${share(perfect, outcomes.length)} logs`,
    `Perfect by number of attackers: ${byAttackers.join("; ")}`,
    `Refused: ${
      ORDINARY.map((role) => `${role} ${wrong.filter((one) => one === role).length}`).join(", ")
    }`,
    "Attacking addresses refused, by need relative to the busiest ordinary client",
    ...[["kind", "up to 1.5", "1.5 to 2", "2 to 3", "above 3"], ...rows].map((row) =>
      row.map((cell) => cell.padEnd(24)).join("").trimEnd()
    ),
  ].join("\n");
}
