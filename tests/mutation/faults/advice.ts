import { type Fault, faultsIn } from "../fault.ts";

/** Faults of advice on a log that somebody who had not read the tests put in, and no test noticed. */
export const ADVICE_FAULTS: readonly Fault[] = [
  ...faultsIn("adapters/replay/advise/client_needs.ts", [
    "tests/adapters/replay/advise/client_needs.test.ts",
  ], {
    "Units of a span that count its end": "while (at[last]! - at[first]! >{~~=~>~~} span)",
    "Requests of a span that count its end": "if (at[last]! - at[first]! >{~~=~>~~} span)",
    "A pace with pauses is steady": "return empty <= {~~1~>4~~}",
    "A pace with bursts is steady": "< {~~2~>6~~} * mean",
    "Four requests come at equal distances": "at.length < {~~20~>4~~} ||",
    "Every second distance is enough": "regular >= {~~0.9~>0.5~~} *",
    "A monitor may leave": "lasts >= {~~0.8~>0.2~~} *",
    "A monitor may come as often as it likes":
      "distance < {~~Math.max(2_000, 4 * grain)~>4 * grain~~})",
    "Needs of whole seconds as if they were exact": "mostWithin(requests, span{~~ + grain~>~~});",
  }),
  ...faultsIn("adapters/replay/advise/choose_limits.ts", [
    "tests/adapters/replay/advise/choose_limits.test.ts",
  ], {
    "The smallest limit, whatever its burst":
      "each.limit{~~ + each.burst < best.limit + best.burst~> < best.limit~~}",
    "As much room as wanted, or the least": "[headroom{~~, 1.75, 1.5~>~~}].filter",
    "The least room is never tried": "...[{~~1.5, 1.4~>~~}].filter",
    "Less room that refuses nobody more": "choice.refused.size >{~~~>=~~} best.refused.size",
    "A second limit that refuses those whom the first refuses":
      "[...refused]{~~.filter((client) => !before.has(client))~>~~}.length",
    "An error of floats that is rounded up": "value{~~ * (1 - 1e-9)~>~~};",
    "A burst of whole seconds as if they were exact": "top[0]!){~~ + rate * grain~>~~} }",
    "Rates that are never tried": "[shapes, {~~[...shapes, ...every]~>shapes~~}]",
    "Tries that anybody may need are forgotten": "burst: Math.max({~~least~>0~~}, top[",
    "Clients that may need the most are passed over":
      "sort((one, other) => {~~one.rate - other.rate~>other.rate - one.rate~~})",
  }),
  ...faultsIn("adapters/replay/advise/set_aside.ts", [
    "tests/adapters/replay/advise/set_aside.test.ts",
  ], {
    "A gap within minutes as wide as within an hour": "{~~span <= 600_000 ? 4 : ~>~~}5;",
    "A need of two that sets apart": "MIN_NEED = {~~10~>2~~};",
    "A steady pace three times above the others": "ABOVE_OTHERS = {~~1.5~>3~~};",
    "Steady clients that are ordinary do not count":
      "({~~steady[client] === 0 || ordinary[client] === 1~>steady[client] === 0~~});",
    "Eight attackers at most, however many clients":
      "Math.max(DEEPEST, {~~Math.floor(order.length * DEEPEST_SHARE)~>0~~})",
  }),
  ...faultsIn("adapters/replay/advise/advise.ts", [
    "tests/adapters/replay/advise/advise_parts.test.ts",
  ], {
    "One client of a few is sacrificed": "Math.{~~floor~>ceil~~}(count / 1_000)",
    "Twenty requests say nothing": "}]) => requests >{~~=~>~~} MIN_REQUESTS",
    "A second group of hardly any needs": "if ({~~order[rank - 1]! >= 10 && ~>~~}order",
    "Times that were spread are exact": [
      "  if ((log?.resolution ?? 1) > 1) return 1_000;\n",
      "",
    ],
    "Attackers who are compared with each other": [
      "ordinary[client] === 1 ? Math.max(bound, need) : bound, 1)",
      "Math.max(bound, need), 1)",
    ],
    "Nine of the heaviest": "SHOWN = {~~10~>9~~};",
    "Clients refused by the tight limit that are not counted":
      "requestsOf(trace, {~~admitted.ordinary~>apart~~})).size",
    "Tries to log in that the limits of all and of writes refuse":
      "granted = {~~logins.requests >= MIN_REQUESTS ? LOGINS : ~>~~}0;",
    "No tries to log in for those who needed none": 'part === "logins" ? {~~LOGINS~>0~~} : 0',
  }),
  ...faultsIn("adapters/replay/log/request_marks.ts", [
    "tests/adapters/replay/advise/advise_parts.test.ts",
  ], {
    "Paths without a bound": "before !== undefined || logins.size {~~<~>>=~~} MAX_LOGINS",
  }),
  ...faultsIn("adapters/replay/log/request_marks.ts", [
    "tests/adapters/replay/log/request_marks.test.ts",
  ], {
    "Answers by 429 of the first part alone": "refused: one.refused{~~ + other.refused~>~~},",
    "The rarest paths are kept": "sort(([, a], [, b]) => {~~b - a~>a - b~~})",
  }),
  ...faultsIn("adapters/replay/log/read_blocks.ts", [
    "tests/adapters/replay/log/read_log.test.ts",
  ], {
    "A short piece is kept in memory that changes":
      "held.push({~~bytes.length < MIN_BLOCK_BYTES ? new Uint8Array(bytes) : bytes~>bytes~~});",
    "The form depends on the pieces":
      "decompressed(name, bytesOf(name, text)), {~~FORM_BYTES~>1~~})",
    "A long first line is a block of its own": "const goesOn = {~~!isFirst && ~>~~}held.length",
    "What follows a frame of zstd is lost":
      'rest.left !== undefined && {~~form === "zstd"~>false~~}',
    "A source that fails has damaged data":
      "throw {~~broken === undefined ? faultOf(cause) : broken.error~>faultOf(cause)~~};",
  }),
  ...faultsIn("adapters/replay/log/unwrap_lines.ts", [
    "tests/adapters/replay/log/read_log.test.ts",
  ], {
    "A divided line ends with its block":
      'const last = {~~whole.lastIndexOf("\\n") + 1~>whole.length~~};',
  }),
  ...faultsIn("adapters/replay/log/read_time.ts", [
    "tests/adapters/replay/log/read_time.test.ts",
  ], {
    "A longer time is taken for the one before":
      "writtenBytes = {~~kept === to - from ? kept : 0~>kept~~};",
    "A shorter time is taken for the one before":
      "if (same === to - from{~~ && same === writtenBytes~>~~}) return same;",
  }),
  ...faultsIn("adapters/replay/log/key_table.ts", [
    "tests/adapters/replay/log/forms.test.ts",
  ], {
    "A proxy's address is a client": "numbers.push({~~NOBODY~>numberOf(text)~~});",
  }),
];
