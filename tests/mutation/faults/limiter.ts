import { type Fault, faultsIn } from "../fault.ts";

/** Faults of the limiter and of waiting for one's turn. */
export const LIMITER_FAULTS: readonly Fault[] = [
  ...faultsIn("core/limiter/limiter.ts", ["limiter"], {
    "`peek` takes": "looking = family.bind({~~peek~>consume~~});",
    "`refund` takes": "return reported(call({~~refund~>consume~~}, key, cost), key, -cost);",
    "`refund` wakes nobody": 'if (verb.kind {~~!~>=~~}== "free") return',
    "`reset` forgets nothing": "return thenTell(() => {~~family.delete(key)~>{}~~}, key);",
    "The limiter's clock is not read":
      "clock === undefined ? undefined : {~~readClock(clock)~>Date.now()~~}",
  }),
  ...faultsIn("core/waiting/queue.ts", ["tests/core/waiting/waiting_costs.test.ts"], {
    "Who leaves is forgotten by the projections of those behind":
      "else if (projection !== undefined) queue.isPessimistic = {~~true~>false~~};",
  }),
  ...faultsIn("core/waiting/wait.ts", ["tests/core/waiting/waiting.test.ts"], {
    "The queue of a key is never forgotten": "if (byName.get(name) {~~===~>!==~~} queue)",
    "Units that came back before a queue listened are missed":
      "send(waiter, answer, {~~hearsOthers(limiter)~>false~~}, queue.passing());",
  }),
  ...faultsIn("core/waiting/projections.ts", ["limiter"], {
    "`maxWait` is checked only when the time is up":
      "if (!isTooLate(waiter, {~~projection.wait~>0~~}))",
  }),
  ...faultsIn("core/waiting/projections.ts", ["tests/core/waiting/waiting_costs.test.ts"], {
    "All are projected anew at each refusal": "at {~~> projected~>>= 0~~}) forgetProjections",
  }),
  ...faultsIn("core/waiting/signals.ts", ["tests/core/waiting/waiting.test.ts"], {
    "A signal keeps its listener": "if (group.callers.size {~~> 0~>>= 0~~}) return;",
  }),
  ...faultsIn("core/waiting/turns.ts", ["tests/core/waiting/waiting_costs.test.ts"], {
    "The rest of many does not leave": "later.splice(0, {~~MAX_PER_TURN~>0~~})",
    "All of many leave in one turn": "if (used >= MAX_PER_TURN{~~~> * 1e9~~}) return void",
  }),
  ...faultsIn("core/waiting/wait.ts", ["tests/core/waiting/closed_stores.test.ts"], {
    "A delay is slept out after the store was closed":
      "while (delayed.first {~~!==~>===~~} undefined) {\n    const waiter: Waiter = delayed.first;",
  }),
  ...faultsIn("core/linked_list.ts", ["limiter"], {
    "The last to come is the first in the queue":
      "if (last === undefined) list.first = item;\n  else {~~last.next = item~>list.first = item~~};",
  }),
  ...faultsIn("core/waiting/wait.ts", ["limiter"], {
    "One who leaves stays in the queue, and is charged":
      "  }{~~ else fail(waiter, () => reason)~>~~};\n}",
    "The first in the queue sleeps a millisecond too long": "queue.passing() + sleep{~~~> + 1~~};",
    "The delay of a queue is not waited out":
      "startsAt = queue.passing(){~~ + decision.delay~>~~};",
  }),
  ...faultsIn("core/clock.ts", ["tests/core/clock.test.ts"], {
    "A timer that wakes a millisecond early": "if (left <= {~~0~>1~~}) wake();",
  }),
  ...faultsIn("core/waiting/acquire.ts", ["tests/core/waiting/waiting.test.ts"], {
    "Who is one too many is sent back at once":
      "const retryAfter = {~~Math.max(1, seen.retryAfter, seen.delay)~>seen.retryAfter~~};",
  }),
];
