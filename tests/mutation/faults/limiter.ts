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
    search: "return wakeWhenDone(reported(decide(key, -cost, false, instant()), key, -cost), key);",
    replace: "return wakeWhenDone(reported(decide(key, cost, false, instant()), key, -cost), key);",
    laws: ["limiter"],
  },
  {
    what: "`refund` wakes nobody",
    file: LIMITER,
    search: "return wakeWhenDone(reported(decide(key, -cost, false, instant()), key, -cost), key);",
    replace: "return reported(decide(key, -cost, false, instant()), key, -cost);",
    laws: ["limiter"],
  },
  {
    what: "`reset` forgets nothing",
    file: LIMITER,
    search: "return wakeWhenDone(calls.delete(key) as void, key);",
    replace: "return wakeWhenDone(undefined as void, key);",
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
    search: "const abort = () => waiter.fail(signal!.reason);",
    replace: "const abort = () => reject(signal!.reason);",
    laws: ["limiter"],
  },
  {
    what: "The first in the queue sleeps a millisecond too long",
    file: DRIVER,
    search: "cancel = request.limiter.after(milliseconds, queue.wake);",
    replace: "cancel = request.limiter.after(milliseconds + 1, queue.wake);",
    laws: ["limiter"],
  },
  {
    what: "The delay of a queue is not waited out",
    file: DRIVER,
    search: "waitForStart(queue, request, delayed, decision.delay)",
    replace: "waitForStart(queue, request, delayed, 0)",
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
