import { type Fault, faultsIn } from "../fault.ts";

const PERMIT_TEXT = "tests/core/algorithms/concurrency.test.ts";
const PERMIT_STEPS = "tests/core/verbs/permit_steps.test.ts";
const RENEWALS = "tests/core/limiter/permit_renewals.test.ts";
const GROWING_LOCKS = "tests/core/algorithms/growing_locks.test.ts";
const BLOCKS = "tests/core/algorithms/blockable.test.ts";
const LOCKED_STORE = "tests/stores/locked/locked_store.test.ts";
const RULE_ENGINE = "tests/adapters/rules/engine/rule_engine.test.ts";

/** Faults of permits, locks, blocks, locked databases, and units of rules. */
export const HELD_FAULTS: readonly Fault[] = [
  ...faultsIn("core/algorithms/permit_list.ts", [PERMIT_TEXT], {
    "Text of permits that no step writes": "&& {~~encodePermits(permits) === text~>true~~} ?",
    "Text of more permits than the limit": "isPermit{~~ || sum > limit~>~~}",
    "Text of permits out of order": "expires >= {~~before~>0~~}",
  }),
  ...faultsIn("core/algorithms/concurrency.ts", [PERMIT_TEXT], {
    "A time to live beyond an hour that nobody may hold for": "Math.max(HOUR, {~~ttl~>0~~})",
  }),
  ...faultsIn("core/verbs/permit_steps.ts", [PERMIT_STEPS], {
    "A hold that comes twice is charged twice":
      "if ({~~steps.holds(states, now, argument)~>false~~})",
    "A permit that the last part still holds is held": "all = held{~~ && all !== false~>~~};",
    "A part whose state no call changes refuses permits":
      "{~~!splits[index]!.decide(state, state, now, argument.cost).allowed~>true~~};",
    "A key without permits takes room in a store":
      "next === initial[index]) ? {~~initial~>nexts~~} : nexts;",
  }),
  ...faultsIn("core/limiter/open_permit.ts", [RENEWALS], {
    "A late answer takes time from a permit":
      "{~~Math.max(heldUntil, renewedAt + ttl)~>renewedAt + ttl~~};",
    "A policy's refusal loses a permit": 'else {~~if (source !== "policy") ~>~~}lose',
    "A policy's answer says that a permit was released": 'allowed{~~ && source !== "policy"~>~~}),',
    "A permit that was released is lost by a late answer": "{~~if (!renewed.isHeld) return;~>~~}",
    "A permit outlives its time between two renewals":
      "Math.min(now + interval, {~~heldUntil, ~>~~}endsAt)",
    "Permits are renewed by the longest time to live": "ttl: Math.{~~min~>max~~}(",
  }),
  ...faultsIn("core/algorithms/growing_locks.ts", ["growingLockout"], {
    "Part of a lock's units forgives it": "Math.{~~floor~>ceil~~}(-left / limit)",
    "A lock counts from a clock that was set back": "{~~Math.max(now, opened)~>now~~} + lock",
    "A receipt gives back tries of a later window":
      "return {~~opened === place ? tries : 0~>tries~~};",
  }),
  ...faultsIn("core/algorithms/growing_locks.ts", [GROWING_LOCKS], {
    "Text of a lock before one that is over":
      "return {~~before > 0 || ~>~~}tries === 0 && opened > 0 ? undefined : state",
    "Text of a second lock that begins without a first":
      "{~~(strikes > 1) === (before > 0)~>true~~}",
  }),
  ...faultsIn("core/algorithms/fixed_window.ts", ["fixedWindow"], {
    "A receipt gives back units of a later window":
      "held: (use, now, window) => {~~place(use) === window ? usedNow(use, now) : 0~>usedNow(use, now)~~},",
  }),
  ...faultsIn("core/algorithms/blockable.ts", [BLOCKS], {
    "A block keeps holders from renewing by hold":
      "&& {~~!permits.holds(state.covered, now, id)~>true~~}",
    "A refusal clears a block that is over": "isOver && {~~mayClear && ~>~~}next === initial",
    "A block stays for a millisecond": "const isOver = now {~~>=~>>~~} blockedUntil",
    "Units given back leave a block that is over": "now, {~~cost < 0~>false~~});",
    "A block takes no bytes": "? {~~BLOCK_BYTES + ~>~~}bytes(state.covered)",
  }),
  ...faultsIn("core/algorithms/detach_state.ts", ["tests/core/waiting/waiting_views.test.ts"], {
    "What a block covers is read after its call":
      "return {~~detached === inner ? state : wraps.withInner(state, detached)~>state~~};",
  }),
  ...faultsIn("stores/locked/locked_store.ts", [LOCKED_STORE], {
    "A locked store that is closed asks its driver": "{~~requireOpen();\n    ~>~~}commit([call]);",
  }),
  ...faultsIn("stores/locked/call_committer.ts", [LOCKED_STORE], {
    "One of two calls fails the other": "calls.length > {~~1~>2~~}) {",
    "Calls that may have been applied are made again":
      'scope === "call" && {~~applied === "no" && ~>~~}',
    "A locked store sweeps at each write": "{~~written = 0;\n    ~>~~}try {",
  }),
  ...faultsIn("stores/locked/turn_queue.ts", [LOCKED_STORE], {
    "One call of a thousand is never decided": "start + MOST_CALLS{~~~> - 1~~});",
  }),
  ...faultsIn("stores/locked/transact_calls.ts", [LOCKED_STORE], {
    "A call that has failed is charged when a driver decides again":
      "const asked = {~~calls.filter(({ failure }) => failure === undefined)~>calls~~};",
  }),
  ...faultsIn("adapters/rules/engine/bound_limits.ts", [RULE_ENGINE], {
    "A limit takes over from one that is back beside it": "{~~!ids.has(id) && ~>~~}until > instant",
    "A limit takes over from the one that it stands in the place of, which has moved":
      "{~~there !== undefined && ids.has(there.algorithm.id)~>false~~} ? undefined : there",
  }),
  ...faultsIn("adapters/rules/engine/ask_rules.ts", [
    "tests/adapters/rules/engine/engine_model.test.ts",
  ], {
    "Where a shadow refuses, the other rules charge nothing":
      "if ({~~isRefused || left.length === rules.length~>true~~}) return verdicts;",
  }),
  ...faultsIn("core/together/merged_twins.ts", [RULE_ENGINE], {
    "A counter that stands twice has the higher of its limits":
      "otherOlder.length\n    : capacity {~~<~>>~~} otherCapacity;",
  }),
  ...faultsIn("core/together/take_in_turn.ts", ["tests/core/together/failing_stores.test.ts"], {
    "Quotas stay charged where another rule refuses": "if ({~~isTaken~>true~~}) return answers;",
  }),
];
