import { type Fault, faultsIn } from "../fault.ts";

const RECEIPTS = "tests/core/receipts/reservable.test.ts";
const REPLAY = "tests/core/receipts/replay.test.ts";
const LEASED_PERMITS = [
  "tests/stores/layered/leased_permits.test.ts",
  "tests/stores/layered/share_network.test.ts",
] as const;
const LAGS = "tests/core/receipts/lags.test.ts";

/** Faults that somebody who had not read the tests put in, and no test noticed at first. */
export const OVERLOOKED_FAULTS: readonly Fault[] = [
  ...faultsIn("stores/memory/memory_family.ts", ["memoryStore"], {
    "A look that takes over from older options":
      "if (next !== held{~~ && writes~>~~}) keep(slot, key, next, answer, now);",
    "A reset that leaves what is held under older options":
      "for (const place of [keys.own{~~, ...keys.older~>~~}]) {",
  }),
  ...faultsIn("stores/memory/memory_family.ts", ["tests/stores/memory/mixed_states.test.ts"], {
    "A state that is no number is an arrival time without use":
      "if ({~~cells[2 * slot] === Infinity~>false~~}) return onObject(slot, key, cost, at);\n    const now = at === undefined ? processTime() : at;\n    const decision = takeInPlace",
    "A state that is no number is charged where no number lies":
      "if ({~~cells[2 * slot] === Infinity~>false~~}) return onObject(slot, key, cost, at);\n    const now = at === undefined ? processTime() : at;\n    const decision = chargeInPlace",
    "A number takes the place of a state, which stays": [
      'if (typeof next === "number" && next < Infinity && next !== initial) {',
      "if (next !== initial) {",
    ],
  }),
  ...faultsIn("stores/memory/run_together.ts", ["memoryStore"], {
    "A look in a batch that takes over from older options":
      'const writes = next !== held{~~ && verb.kind !== "look"~>~~};',
  }),
  ...faultsIn("stores/memory/run_together.ts", ["tests/stores/memory/memory_store.test.ts"], {
    "A batch takes a slot that another key has by now":
      "const isHeld = slot !== undefined{~~ && slots.keys[slot] === key &&\n      slots.owners[slot] === own.table~>~~};",
  }),
  ...faultsIn("stores/memory/run_together.ts", ["tests/stores/memory/make_room.test.ts"], {
    "Batches on known keys sweep no others":
      "if ({~~--slots.rest < 0~>false~~}) sweep(slots, now);",
  }),
  ...faultsIn("stores/layered/deny_cache.ts", ["tests/stores/layered/deny_cache.test.ts"], {
    "A refusal that holds by another clock than its own":
      "if (cost < least{~~ || ownTime !== (now === undefined)~>~~}) return undefined;",
    "A charge beside other calls leaves a remembered wait as it was":
      'verb.kind {~~!== "look"~>=== "free"~~} && verb.units(argument) !== 0',
    "A refusal from before a resetPrefix under way is kept": [
      "    cache.freed.forEach((count, counter) => cache.freed[counter] = count + 1);\n",
      "",
    ],
    "A refusal of a fallback is kept after the first store is back":
      'source {~~=== undefined~>!== "policy"~~};',
  }),
  ...faultsIn("stores/layered/keyed_cache.ts", ["tests/stores/layered/deny_cache.test.ts"], {
    "A reset leaves what is remembered under older options":
      "of [algorithm{~~, ...older.map(({ algorithm }) => algorithm)~>~~}]",
  }),
  ...faultsIn("stores/layered/fallback.ts", ["tests/stores/layered/fallback.test.ts"], {
    "Parts of a decision do not say that another store made it":
      '"fallback"{~~, parts: decision.parts?.map(markFallback)~>~~} };',
  }),
  ...faultsIn("stores/layered/lease.ts", ["tests/stores/layered/lease.test.ts"], {
    "A block from before a reset under way is used":
      "{~~keys.delete(family.spec, key);\n        ~>~~}permits.forget(family, key);",
    "A block from before a resetPrefix under way is used":
      "{~~keys.clear();\n        ~>~~}permits.clear();",
  }),
  ...faultsIn("core/receipts/open_receipts.ts", [RECEIPTS, LAGS, REPLAY], {
    "A key keeps one run of receipts more than its text may hold":
      "while (open.length > {~~MOST_RUNS~>(MOST_RUNS + 1)~~} * width) {",
    "The oldest run ends when the newest does, though it ends later":
      "{~~Math.max(until, endOf(next, width))~>until~~};",
    "Receipts whose lags differ are one run":
      "if ({~~open[lag] !== open[lag + width]~>false~~}) return;",
    "A call lowers the lag of the last run only":
      "for (; at >= 0 && next[at + HEAD + lag]! > use; at -= {~~width~>next.length~~}) {",
    "Earlier receipts do not learn of a settlement":
      "own === NO_CALL_SINCE || {~~!isEarlier~>true~~} ? own",
    "An earlier receipt gives back more than calls after the settled one leave":
      "{~~Math.min(own + less, settled)~>own + less~~};",
    "Later receipts keep the lag that a settlement has used up":
      "next.push(own === NO_CALL_SINCE ? own : most{~~ - by~>~~});",
    "Runs that become one keep the greater lag": [
      "  open[at + 2] = open[at + width + 2]!;\n  open.splice(at + width, width);",
      "  open[at + 2] = open[at + width + 2]!;\n  open.splice(at + HEAD, width);",
    ],
  }),
  ...faultsIn("core/algorithms/reservable.ts", [RECEIPTS, LAGS], {
    "A receipt is settled at the instant at which it is over":
      "at === -1 || now {~~>=~>>~~} until || marks",
    "A list of receipts is taken for another": "isOpenState(held) && {~~held.id === id~>true~~};",
    "Use beyond a receipt lowers no lag":
      "next === inner ? rest : {~~afterCall(returns, rest, inner, now)~>rest~~};",
    "A call beside open receipts lowers no lag":
      "withOpen(held, next, {~~afterCall(returns, open, inner, now)~>open~~});",
    "A refund beside open receipts gives back the units of others":
      "return {~~cost < 0 ? state : ~>~~}after(state, take(state.inner, now, cost), now);",
    "A settled key without use is kept": "return isFresh ? {~~algorithm.initial~>state~~} : state;",
    "Receipts are lost when the limit changes": "if ({~~!isKnown~>true~~}) return state;",
  }),
  ...faultsIn("core/algorithms/reservable.ts", ["memoryStore"], {
    "A fresh key is forgotten though its receipts are open":
      "{~~Math.max(resetAfter, endOf(state.open, width) - now)~>resetAfter~~}",
  }),
  ...faultsIn("core/algorithms/permit_list.ts", ["tests/core/algorithms/shares.test.ts"], {
    "Text of more shares than a key has room for":
      "!Number.isInteger(count){~~ || count > most~>~~}) return undefined;",
  }),
  ...faultsIn("core/algorithms/concurrency.ts", ["tests/core/algorithms/shares.test.ts"], {
    "A late message of a share counts":
      "if ({~~!isNewer(number, held) || ~>~~}place < 0 && number > 1) return state;",
    "A message revives a share that is gone":
      "if (!isNewer(number, held){~~ || place < 0 && number > 1~>~~}) return state;",
    "No share changes while a key has as many as it may":
      "if ({~~place < 0 && ~>~~}permitsHeld(state, now) >= most) return state;",
    "A share may be larger than the limit":
      "const units = {~~Math.min(wanted, free(state, now) + held.units)~>wanted~~};",
  }),
  ...faultsIn("core/algorithms/permit_list.ts", ["tests/core/algorithms/shares.test.ts"], {
    "The numbers of the messages about a share end": [
      "return number <= MOST_NUMBER ? number : 2 + (number - 2) % ROUND;",
      "return number;",
    ],
    "After the largest number of a message comes that of a plain permit":
      "? number : {~~2 + (number - 2) % ROUND~>number % 2 ** 32~~};",
  }),
  ...faultsIn("stores/layered/share_pools.ts", LEASED_PERMITS, {
    "A key for which there is no room loses its permits":
      "if (pool.{~~used + pool.~>~~}wanted > 0) pools.set(name, pool);",
  }),
  ...faultsIn("stores/layered/open_shares.ts", LEASED_PERMITS, {
    "Permits are given out of units that are being given back":
      "{~~pool.units = Math.min(pool.units, units);~>~~}\n    pool.giveBack",
    "A share counts from when it was answered": "pool.renewedAt = {~~sentAt~>sentAt + 200~~};",
    "A stale share gives out permits": "&& at - pool.renewedAt < {~~lag~>ttl~~};",
    "The answer of a failure policy loses a share": [
      'if (decision.source === "policy") return;\n  if (units',
      "if (units",
    ],
    "A refusal writes":
      "if ({~~pool.look === undefined && !isUsedUp~>true~~}) return send(open, least, block);",
    "A call shares the refusal of a larger one": [
      "if (pool.message !== undefined) return pool.message;",
      "const sent = pool.message ?? pool.look;\n    if (sent !== undefined) return sent;",
    ],
    "A call that began before a share's message loses the share":
      "if (at < pool.renewedAt) at = {~~pool.renewedAt + time - pool.renewedTime~>Infinity~~};",
  }),
  ...faultsIn("stores/layered/leased_permits.ts", LEASED_PERMITS, {
    "A permit is counted on for longer than its share": "renewalLag: {~~shares.lag~>0~~},",
    "A release gives back one unit more": "pool.used -= cost{~~~> + 1~~};",
    "A renewal asks for units that nobody needs":
      "const spare = {~~at - pool.touchedAt < idleFor ? block : 0~>block~~};",
    "A refusal by the answer to another call says to come again at once":
      "retryAfter: {~~Math.max(1, decision.retryAfter)~>decision.retryAfter~~},",
    "A call overtakes those that wait for the store": "take(open, permit, {~~pool.wanted~>0~~})",
    "Two calls at once with one id take units twice":
      "if ({~~pool.permits.has(id)~>false~~}) return decide(open, true);",
    "A call for more than the limit takes a share":
      "if ({~~permit.cost > capacity~>false~~}) return lookHere",
    "A look does not count its own units among idle ones":
      "remaining: remaining{~~ - cost~>~~}, retryAfter: 0 };",
  }),
  ...faultsIn("stores/optimistic/batcher.ts", ["tests/stores/optimistic/compare_and_set.test.ts"], {
    "A policy answers calls on a closed store":
      'if (closed) return context.{~~closeJobs([job])~>failJobs([job], "no", asError(0))~~};',
    "A policy answers calls that wait when a store is closed":
      'server.context.{~~closeJobs(drainIf(queue, () => true))~>failJobs(drainIf(queue, () => true), "no", asError(0))~~};',
    "A store whose calls are answered keeps its process alive":
      "  }{~~, false~>~~});\n}\n\n/** Fails late calls.",
    "A probe makes no attempt beside one that gets no answer":
      "if (state.starting && {~~breaker.failures > 0~>false~~}) {",
    "A store that is closed while it connects reports an outage":
      "if ({~~server.closed~>false~~}) return undefined;",
  }),
  ...faultsIn("stores/sqlite/transaction_runner.ts", ["tests/stores/sqlite/patience.test.ts"], {
    "After a call that waited in vain, no call waits for SQLite any more":
      "commit.run();\n{~~        waiting.reward();\n~>~~}",
  }),
  ...faultsIn("stores/optimistic/handle_outcome.ts", [
    "tests/stores/redis/batches/batches_in_flight.test.ts",
    "tests/stores/redis/batches/claims.test.ts",
  ], {
    "A call that yields to a claim has so many tries":
      "{~~    job.tries--;\n~>~~}  }\n  state.waiting",
    "Each batch of one outage is a failure of its own":
      "const isFirst = {~~!state.failing~>true~~};",
  }),
  ...faultsIn("stores/locked/locked_store.ts", ["tests/stores/locked/locked_store.test.ts"], {
    "A driver that fails to close leaves callers waiting": [
      "    } finally {\n      announce();\n    }",
      "      announce();\n    } finally {\n    }",
    ],
  }),
  ...faultsIn("stores/layered/run_with_permits.ts", [
    "tests/stores/layered/leased_permits.test.ts",
  ], {
    "A permit that was held before is released with a refused call":
      "isOwn(operation){~~ && !isHeld(operation)~>~~};",
  }),
  ...faultsIn("core/together/take_in_turn.ts", ["tests/stores/layered/leased_permits.test.ts"], {
    "Calls at once of which one fails keep the permits of the others":
      "andThen({~~giveBack(taken)~>undefined~~}, () => {\n      throw error;",
  }),
  ...faultsIn("stores/layered/leased_call.ts", ["tests/stores/layered/lease.test.ts"], {
    "A call that fails takes its units of a block with it":
      "(error) => {\n{~~    restore(call, given);\n~>~~}    throw error;",
  }),
  ...faultsIn("core/carry_over.ts", ["tests/core/carry_over.test.ts"], {
    "Older options that are fresh end the search for use":
      "decide(held, held, now, 0)) === 0) {~~continue~>return undefined~~};",
    "Older options without a state end the search for use":
      "if (held === undefined) {~~continue~>return undefined~~};",
    "What a key takes over is forgotten":
      "if (state !== algorithm.initial) return {~~state~>algorithm.initial~~};",
    "More use than the new capacity is carried over": [
      "Math.min(carried(older.capacity - remaining), capacity)",
      "carried(older.capacity - remaining)",
    ],
  }),
  ...faultsIn("core/plain_family.ts", ["tests/core/plain_family.test.ts"], {
    "A store of one's own forgets a key under today's options alone":
      "[algorithm{~~, ...older.map(({ algorithm }) => algorithm)~>~~}]\n    .map",
  }),
  ...faultsIn("core/bounded_map.ts", ["tests/core/bounded_map.test.ts"], {
    "An entry that is set again in a full map makes another one go": ["  map.delete(key);\n", ""],
  }),
  ...faultsIn("core/verbs/attempt.ts", ["tests/core/verbs/waiting_verbs.test.ts"], {
    "A policy's answer says that it has seen the queue":
      'sight: {~~decision.source === "policy" ? undefined : ~>~~}answer?.sight',
  }),
  ...faultsIn("core/arithmetic/arrival_time.ts", ["tests/core/verbs/waiting_verbs.test.ts"], {
    "A place in a queue is given back that is not the newest":
      "const lag = isNewest ? wanted : {~~newestOnly ? 0 : ~>~~}lags",
  }),
  ...faultsIn("core/rules/match_rules.ts", ["tests/core/rules/rules.test.ts"], {
    "A reading is charged again beside another descriptor": "places.{~~some~>every~~}((place)",
  }),
  ...faultsIn("core/rules/verdict.ts", ["tests/core/rules/rules.test.ts"], {
    "A shadow's capacity bounds a verdict":
      "{~~~>capacity = Math.min(capacity, own);\n    ~~}if (rule.shadow) continue;",
  }),
  ...faultsIn("core/rules/unreachable_limits.ts", ["tests/core/rules/rules.test.ts"], {
    "A sliding counter does not remember the window before":
      "mostUnitsIn(other, {~~2 * ~>~~}period) <= units",
  }),
  ...faultsIn("adapters/http/fields/header_writer.ts", [
    "tests/adapters/http/fields/header_vectors.test.ts",
  ], {
    "Of policies with equally little left, the last is shown":
      "lefts[other]!.remaining {~~<~><=~~} lefts[index]!.remaining",
    "Retry-After of no time at all": [
      "String(Math.max(1, Math.ceil(milliseconds / 1000)))",
      "String(Math.ceil(milliseconds / 1000))",
    ],
  }),
  ...faultsIn("adapters/http/address/forwarded_hops.ts", [
    "tests/adapters/http/address/client_address.test.ts",
  ], {
    "An address that is cut off is a client's": '{~~ || text.length < field.length~>~~} ? "" :',
  }),
  ...faultsIn("adapters/http/gate/refunds.ts", ["tests/adapters/http/gate/gate.test.ts"], {
    "A redirect is no success": "({ status }) => status < {~~400~>300~~};",
  }),
  ...faultsIn("adapters/rules/files/path_readings.ts", [
    "tests/adapters/rules/files/path_readings.test.ts",
  ], {
    "A hash always ends a path": '[path.split("#", 1)[0]!{~~, path.replaceAll("#", "%23")~>~~}]',
    "A target has one reading fewer than it may": "readings.size {~~>~>>=~~} MAX_READINGS",
  }),
  ...faultsIn("adapters/rules/files/compile_routes.ts", [
    "tests/adapters/rules/files/compile_routes.test.ts",
  ], {
    "HEAD is GET where a route names it": '"HEAD"{~~ && !methods?.includes("HEAD")~>~~} ?',
    "A descriptor of an empty header": 'value === null{~~ || value === ""~>~~}) return undefined',
  }),
  ...faultsIn("adapters/rules/files/lint_warnings.ts", [
    "tests/adapters/rules/files/own_format.test.ts",
  ], {
    "A client's own network of IPv6 is taken for one that nothing matches":
      "Number(bits) {~~>=~>>~~} 32",
  }),
  ...faultsIn("core/options/period.ts", ["tests/core/options/duration_text.test.ts"], {
    "A minute is shown as 60 s": "findLast(([, each]) => milliseconds {~~>=~>>~~} each) ??",
  }),
  ...faultsIn("adapters/replay/advise/set_aside.ts", [
    "tests/adapters/replay/advise/set_aside.test.ts",
  ], {
    "Twenty clients say nothing": "others.length {~~<~><=~~} MIN_CLIENTS",
    "A gap within what anybody may need":
      "ratio * {~~Math.max(least, order[rank]!)~>order[rank]!~~})",
  }),
  ...faultsIn("adapters/replay/advise/monitors.ts", [
    "tests/adapters/replay/advise/monitors.test.ts",
  ], {
    "Four pages of a monitor are taken for two":
      "new Set(own.map((mark) => mark {~~>>> 2~>>>> 6~~})).size",
    "A monitor may write": "(mark & {~~(LOGS_IN | WRITES)~>LOGS_IN~~}) !== 0",
  }),
];
