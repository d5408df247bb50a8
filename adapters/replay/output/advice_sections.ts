/*
 * Advice as sections, from which the text and the page are rendered.
 */

import { durationText } from "../../../core/application_support.ts";
import type { Advice, OddClient, PartAdvice } from "../advise/advice.ts";
import type { AdvisedLimit } from "../advise/choose_limits.ts";
import { commandOf, rulesOf, typescriptOf } from "./advice_snippets.ts";
import { count, counted, instantText, safeText } from "./format_numbers.ts";
import { withLogLines } from "./log_notes.ts";
import { needBars } from "./need_bars.ts";
import { present, type Section } from "./sections.ts";

const FEW = 20;
const DAY = 86_400_000;

/** The sections of advice on the log of these arguments, in the order in which they are shown. */
export function adviceSections(advice: Advice, log: string = "LOG"): readonly Section[] {
  const [all, ...special] = advice.parts;
  return [
    { kind: "note", lines: withLogLines(summaryOf(advice), advice) },
    ...partSections(all!, "Advice"),
    ...special.flatMap((part) => partSections(part, TITLES[part.part])),
    { heading: "To paste", title: "TypeScript", code: typescriptOf(advice) },
    { title: "Rule file, rules.json", code: rulesOf(advice) },
    { title: "Requests of this log that the limit refuses", code: commandOf(advice, log) },
    { heading: "What this log does not show", kind: "list", lines: unseen(advice) },
  ];
}

const TITLES: Readonly<Record<PartAdvice["part"], string>> = {
  all: "All requests",
  writes: "Requests that write",
  logins: "Requests that log in",
};

function summaryOf({ requests, clients, start, end }: Advice): string {
  return `${counted(requests, "request")} of ${counted(clients, "client")} in ${
    durationText(end - start)
  }, from ${instantText(start)} UTC`;
}

function partSections(part: PartAdvice, heading: string): readonly Section[] {
  const span = durationText(part.limits[0]!.period);
  return present<Section>(
    { heading, title: heading, kind: "answer", lines: answersOf(part) },
    part.odd.length > 0 && { title: "Set aside: are they yours?", rows: oddRows(part) },
    part.part === "all" && {
      title: `The heaviest clients, by the most in ${span}`,
      rows: heavyRows(part, span),
    },
    { title: `Clients by the most that they need in ${span}`, text: needBars(part) },
  );
}

function oddRows({ odd }: PartAdvice): Section["rows"] {
  return [
    ["client", "requests", "most", "in", "times the busiest other", "refused"],
    ...odd.map((one) => [
      safeText(one.key),
      ...[one.requests, one.most].map((each) => count(Math.round(each))),
      durationText(one.span),
      timesText(one),
      one.isRefused ? "yes" : "no",
    ]),
  ];
}

function heavyRows({ heaviest }: PartAdvice, span: string): Section["rows"] {
  return [
    ["client", "requests", `most in ${span}`, "refused", "by the tight one"],
    ...heaviest.map((one) => [
      `${safeText(one.key)}${one.isSetAside ? " (set aside)" : ""}`,
      ...[one.requests, one.most, one.refused, one.refusedByTight].map(count),
    ]),
  ];
}

function timesText({ times, isSteady }: OddClient): string {
  return `${times < 10 ? times.toFixed(1) : count(Math.round(times))}${
    isSteady ? ", at a steady pace" : ""
  }`;
}

/** `60 in 1 min, 40 at once`. */
export function limitText({ limit, period, burst }: AdvisedLimit): string {
  return `${count(limit)} in ${durationText(period)}, at most ${count(burst)} at once`;
}

function answersOf(part: PartAdvice): readonly string[] {
  const { limits, ordinary, headroom, setAside, refuses, secondGroup, monitors } = part;
  const isOne = ordinary === 1;
  const whom = isOne
    ? "does not refuse the one ordinary client"
    : `refuses none of the ${count(ordinary)} ordinary clients`;
  const room = headroom === 2 ? "twice" : `${headroom} times`;
  const some = refuses === setAside ? "" : `${count(refuses)} of `;
  const apart = setAside === 1 ? "client" : counted(setAside, "client");
  return present(
    `Allow ${limits.map(limitText).join(", and ")}: that ${whom}, and admits ${room} what ` +
      `${isOne ? "it" : "they"} needed.` +
      (setAside === 0 ? "" : ` It refuses ${some}the ${apart} set aside.`),
    tightText(part),
    headroom < 2 && setAside > 0 &&
      "More room would admit some of those set aside, because they need little more.",
    ordinary + setAside < FEW &&
      `With fewer than ${FEW} clients, only a program that keeps up a steady pace and needs ten ` +
        "times as much as the others is set aside: the limit may admit attackers, too.",
    secondGroup > 0 &&
      `${count(secondGroup)} clients form a group far above the others, too large to be set ` +
        "aside. If they are attackers, --where leaves them out.",
    monitors > 0 &&
      `${counted(monitors, "client")} asked for the same page at equal distances all the time. ` +
        "Monitors do, so they count as ordinary.",
  );
}

function tightText({ tight, tightRefuses, ordinary }: PartAdvice): string {
  const text = limitText(tight);
  const whom = ordinary === 1 ? "nothing of it" : "none of them";
  return ordinary < 1_000
    ? `The smallest limit that refuses ${whom} is ${text}; it leaves no room.`
    : `The smallest limit that refuses at most 0.1 % of them is ${text}: it refuses ` +
      `${counted(tightRefuses, "client")}, and leaves no room.`;
}

/** Requests that are too few for a limit of their own. */
function fewText({ writes, logins, parts }: Advice): readonly string[] {
  return ([["writes", writes, "write"], ["logins", logins, "log in"]] as const)
    .filter(([part, requests]) => requests > 0 && !parts.some((each) => each.part === part))
    .map(([, requests, verb]) => `What requests that ${verb} need: there are ${count(requests)}.`);
}

/** Facts that this log cannot show, so that nobody thinks they were checked. */
function unseen(advice: Advice): readonly string[] {
  const { grain, start, end, requests, busiest, clients, untracked, log } = advice;
  const refused = log?.seen?.refused ?? 0;
  return present(
    "Who shares an address, and one attacker behind many addresses.",
    "Attackers who need less than 1.5 times as much as the busiest ordinary client.",
    "Whether those who are refused come again, and how often.",
    end - start < 7 * DAY && `A whole week: it is ${durationText(end - start)} long.`,
    grain === 1_000 &&
      "What happened within a second: its times are whole seconds, and the limits allow for that.",
    refused > 0 &&
      `What clients wanted: ${
          counted(refused, "request")
        } were answered by 429, so a limit was in ` +
        "force.",
    clients > 1 && busiest > requests / 2 &&
      "Who is behind the busiest client, which made more than half of the requests: if it is your " +
        "proxy, --key must name the field with the client's address.",
    ...fewText(advice),
    log?.seen?.hasPaths === false && "What was asked for: it names no paths.",
    untracked > 0 && `${counted(untracked, "request")} of clients beyond the bound on clients.`,
  );
}
