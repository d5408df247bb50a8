import type { Fault } from "../fault.ts";

const LIMITER = "core/limiter/limiter.ts";
const DRIVER = "core/limiter/wait_in_queue.ts";
const QUEUE = "core/limiter/waiting_queue.ts";

/** Faults of the limiter and of waiting for one's turn. */
export const LIMITER_FAULTS: readonly Fault[] = [
  {
    what: "`peek` takes",
    file: LIMITER,
    search: 'requireCost("peek", cost);\n      return decide(key, cost, true, instant());',
    replace: 'requireCost("peek", cost);\n      return decide(key, cost, false, instant());',
    laws: ["limiter"],
  },
  {
    what: "`refund` takes",
    file: LIMITER,
    search: "const refund = () => decide(key, -cost, false, instant());",
    replace: "const refund = () => decide(key, cost, false, instant());",
    laws: ["limiter"],
  },
  {
    what: "`refund` wakes nobody",
    file: LIMITER,
    search: "return reported(wakeAfter(refund, key), key, -cost);",
    replace: "return reported(refund() as MaybeDecision, key, -cost);",
    laws: ["limiter"],
  },
  {
    what: "`reset` forgets nothing",
    file: LIMITER,
    search: "return wakeAfter(() => calls.delete(key), key);",
    replace: "return wakeAfter(() => {}, key);",
    laws: ["limiter"],
  },
  {
    what: "The limiter's clock is not read",
    file: LIMITER,
    search: "clock === undefined ? undefined : checkNow(clock())",
    replace: "clock === undefined ? undefined : Date.now()",
    laws: ["limiter"],
  },
  {
    what: "The last to come is the first in the queue",
    file: QUEUE,
    search: "queue.waiting.push(waiter);",
    replace: "queue.waiting.unshift(waiter);",
    laws: ["limiter"],
  },
  {
    what: "One who leaves stays in the queue, and is charged",
    file: DRIVER,
    search: "const abort = () => leave(queue, waiter, signal!.reason);",
    replace: "const abort = () => waiter.reject(signal!.reason);",
    laws: ["limiter"],
  },
  {
    what: "The first in the queue sleeps a millisecond too long",
    file: DRIVER,
    search: "cancel = request.limiter.after(milliseconds, () => {",
    replace: "cancel = request.limiter.after(milliseconds + 1, () => {",
    laws: ["limiter"],
  },
  {
    what: "The delay of a queue is not waited out",
    file: DRIVER,
    search: "limiter.after(decision.delay, () => {",
    replace: "limiter.after(0, () => {",
    laws: ["limiter"],
  },
  {
    what: "`maxWait` is checked only when the time is up",
    file: QUEUE,
    search: "if (isTooLate(waiter, projection.wait))",
    replace: "if (isTooLate(waiter, 0))",
    laws: ["limiter"],
  },
];
