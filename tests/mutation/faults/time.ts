import { type Fault, faultsIn } from "../fault.ts";

/** Faults of windows by the calendar, locks that grow, queues with a burst, blocks and snapshots. */
export const TIME_FAULTS: readonly Fault[] = [
  ...faultsIn("core/algorithms/calendar_window.ts", ["calendarWindow"], {
    "A clock that mints: a step back opens an earlier window of the calendar":
      "current: (now, place) => {~~now < place * 1_000 ? place : ~>~~}calendar(now).end / 1_000,",
    "A window of the calendar that lasts a millisecond too long":
      "now <{~~~>=~~} place * 1_000 ? place",
  }),
  ...faultsIn("core/algorithms/growing_locks.ts", ["growingLockout"], {
    "Each lock is as long as the first": "locks[{~~Math.min(strikes, locks.length - 1)~>0~~}]!;",
    "A lock that is remembered from its start, not from its end":
      "{~~Math.max(open, strikes === 0 ? 0 : until + forget - now)~>open~~};",
    "A lock undone that still makes the next one longer":
      "return { ...state, strikes: state.strikes{~~ - 1~>~~}, until: state.before, before: 0 };",
  }),
  ...faultsIn("core/algorithms/leaky_queue.ts", ["leakyQueue"], {
    "A burst that takes the places of the queue": "capacity: queue{~~ + burst~> + 1~~},",
  }),
  ...faultsIn("core/algorithms/blockable.ts", ["tests/core/algorithms/blockable.test.ts"], {
    "A block that ends a millisecond late":
      "if (cost > 0 && now <{~~~>=~~} state.blockedUntil) return state;",
    "A block that a charge takes back":
      "return isOver ? next : {~~{ blockedUntil, covered: next }~>next~~};",
    "A shorter block takes the place of a longer one":
      "if (isBlocked(state) && {~~state.blockedUntil >= end~>false~~}) return state;",
    "A block of a block: unblock leaves the first one":
      "return { blockedUntil: end, covered: {~~coveredBy(state)~>state as never~~} };",
    "A retryAfter to the end of the block alone": "? Infinity : wait{~~ + tried.retryAfter~>~~};",
    "A block that is lost as words": "if (count < maxWords{~~~> + 1~~}) return inner.read(",
    "Use under a block expires with it": "{~~wait + then.resetAfter~>wait~~},",
  }),
  ...faultsIn("core/verbs/block.ts", ["tests/core/algorithms/blockable.test.ts"], {
    "A block that begins at 0": "blocks.block(state, {~~now + ~>~~}duration);",
    "A part of all that is not unblocked": "{~~each[index]?.(own, now, argument) ?? ~>~~}own);",
  }),
  ...faultsIn("stores/layered/fallback.ts", ["tests/stores/blocked_keys.test.ts"], {
    "A fallback that unblocks one of its stores":
      "if ((verb as unknown) === {~~unblock~>undefined~~}) {",
  }),
  ...faultsIn("stores/layered/lease.ts", ["tests/stores/blocked_keys.test.ts"], {
    "A lease that gives its units on a blocked key":
      "if ((verb as unknown) === {~~block~>undefined~~}) {",
  }),
  ...faultsIn("core/algorithms/blockable.ts", ["tests/core/algorithms/blockable.test.ts"], {
    "A changed limit forgets blocks":
      "isBlocked(old) && old.blockedUntil > now ? {~~{ ...old, covered }~>covered~~} : covered,",
  }),
  ...faultsIn("stores/memory/snapshot.ts", ["tests/stores/memory/snapshot.test.ts"], {
    "An older snapshot takes use back":
      "if (algorithm !== undefined) state = {~~withLess(algorithm, held, read, now)~>read~~};",
    "Keys that are fresh are restored": 'if (freshAt {~~<=~>===~~} now) return "outdated";',
    "A snapshot evicts keys that are held":
      "|| {~~lacksRoom(slots, slot === undefined ? 1 : 0, bytes - held)~>false~~}) {",
  }),
  ...faultsIn("stores/memory/snapshot.ts", ["tests/stores/memory/max_bytes.test.ts"], {
    "A limiter that opens a restored family leaves a store with too much":
      'if (slots.onFull === {~~"evict"~>"throw"~~}) makeRoom(slots, () => ({ keys: 0, bytes: 0 }), 0);',
  }),
  ...faultsIn("stores/memory/slots.ts", ["tests/stores/memory/snapshot.test.ts"], {
    "Text of a snapshot that is taken for a state":
      "return {~~held.read === undefined~>true~~} ? held : held.read(algorithm);",
  }),
  ...faultsIn("core/stored_key.ts", ["tests/stores/memory/snapshot.test.ts"], {
    "A key of a snapshot with a brace is another one":
      '? escaped.replaceAll("%7D", "}"){~~.replaceAll("%7B", "{")~>~~}.replaceAll("%25", "%")',
  }),
  ...faultsIn("core/bounded_state.ts", ["tests/core/bounded_state.test.ts"], {
    "The longest reset is that of the middle of a window":
      "return {~~Math.max(now, resetOf(algorithm, furthest(now), now))~>now~~};",
    "The longest reset of several limits is that of the shortest":
      "return Math.{~~max~>min~~}(...parts.map(longestReset));",
    "A state with open receipts is never ahead":
      "if (wraps !== undefined) return {~~isAhead(wraps.inner, wraps.innerOf(state), now, by)~>false~~};",
    "Several limits are ahead only if all are":
      "return parts.{~~some~>every~~}((part, index) => isAhead(",
    "A clock that is slower by less than processes may differ is one set back":
      "return resetOf(algorithm, state, now) > longest{~~ + by~>~~};",
    "A state that is too far ahead is a fresh one":
      "if (parts === undefined) return {~~full!(now)~>algorithm.initial~~};",
    "A state that is too far ahead is one of another instant":
      "if (parts === undefined) return full!({~~now~>now + MOST_AHEAD~~});",
    "A state that is bounded loses its open receipts":
      "return {~~wraps.withInner(state, boundedState(wraps.inner, wraps.innerOf(state), now))~>boundedState(wraps.inner, wraps.innerOf(state), now)~~};",
  }),
];
