import { type Fault, faultsIn } from "../fault.ts";

/** Faults of the limiter and of waiting for one's turn. */
export const LIMITER_FAULTS: readonly Fault[] = [
  ...faultsIn("core/limiter/limiter.ts", ["limiter"], {
    "`peek` takes": "return call({~~peek~>consume~~}, key, cost);",
    "`refund` takes": "return reported(call({~~refund~>consume~~}, key, cost), key, -cost);",
    "`refund` wakes nobody": 'return verb.kind {~~=~>!~~}== "free"',
    "`reset` forgets nothing": "return wakeAfter(() => {~~family.delete(key)~>{}~~}, key);",
    "The limiter's clock is not read":
      "clock === undefined ? undefined : {~~checkNow(clock())~>Date.now()~~}",
  }),
  ...faultsIn("core/limiter/waiting_queue.ts", ["tests/core/limiter/waiting_costs.test.ts"], {
    "Who leaves is forgotten by the projections of those behind":
      "else if (projection !== undefined) queue.isPessimistic = {~~true~>false~~};",
  }),
  ...faultsIn("core/limiter/waiting_queue.ts", ["tests/core/limiter/waiting.test.ts"], {
    "The queue of a key is never forgotten": "if (byName.get(stored) {~~===~>!==~~} queue)",
  }),
  ...faultsIn("core/limiter/projections.ts", ["limiter"], {
    "`maxWait` is checked only when the time is up":
      "if (!isTooLate(waiter, {~~projection.wait~>0~~}))",
  }),
  ...faultsIn("core/limiter/projections.ts", ["tests/core/limiter/waiting_costs.test.ts"], {
    "All are projected anew at each refusal": "at {~~> projected~>>= 0~~}) forgetProjections",
  }),
  ...faultsIn("core/limiter/abort_groups.ts", ["tests/core/limiter/waiting.test.ts"], {
    "A signal keeps its listener": "if (group.callers.size {~~> 0~>>= 0~~}) return;",
  }),
  ...faultsIn("core/limiter/abort_groups.ts", ["tests/core/limiter/waiting_costs.test.ts"], {
    "The rest of many does not leave": "later(() => {\n      isWaiting = {~~false~>true~~};",
  }),
  ...faultsIn("core/limiter/end_queues.ts", ["tests/core/limiter/closed_stores.test.ts"], {
    "A delay is slept out after the store was closed":
      "  {~~waiter.wake();~>~~}\n  remove(waiter);",
  }),
  ...faultsIn("core/linked_list.ts", ["limiter"], {
    "The last to come is the first in the queue":
      "if (last === undefined) list.first = item;\n  else {~~last.next = item~>list.first = item~~};",
  }),
  ...faultsIn("core/limiter/wait_in_queue.ts", ["limiter"], {
    "One who leaves stays in the queue, and is charged":
      "  const { call } = queue;\n  {~~dequeue(waiter);~>~~}",
    "The first in the queue sleeps a millisecond too long":
      "cancel = limiter.after(milliseconds{~~~> + 1~~}, () => {",
    "The delay of a queue is not waited out": "limiter.after({~~decision.delay~>0~~}, () => {",
  }),
  ...faultsIn("core/clock.ts", ["tests/core/clock.test.ts"], {
    "A timer that wakes a millisecond early": "if (left <= {~~0~>1~~}) wake();",
  }),
  ...faultsIn("core/limiter/acquire.ts", ["tests/core/limiter/waiting.test.ts"], {
    "Who is one too many is sent back at once":
      "retryAfter: {~~Math.max(1, seen.retryAfter)~>seen.retryAfter~~} };",
  }),
];
