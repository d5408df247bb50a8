/*
 * Compare and set, for a whole batch in one round trip.
 *
 * The calls are stepped over the values last seen, which are guesses, at a time that is an estimate.
 * Then one script call per hash slot has the server compare each guess with what it holds. Where
 * they are the same, what was decided holds, and what changed is written; where not, the server
 * tells what it holds, and only the calls on those keys are stepped again. A refusal is compared
 * too: nobody is refused for what others have given back since.
 *
 * Keys of one call are committed as one: they form a group, as do all keys that calls tie together.
 */

import { ALL_ANSWERED, type BatchEnd } from "./batch_end.ts";
import { type Cell, cellOf, describe, rootOf } from "./batch.ts";
import { COMPARE_AND_SET, COMPARE_AND_SET_SHA } from "./compare_and_set.ts";
import type { Command } from "./connection.ts";
import type { Job } from "./job.ts";
import type { NodeConnection } from "./node_connection.ts";
import { cameBack, roundTrip } from "./round_trip.ts";
import { timeOf } from "./server_clock.ts";
import { fateOf, stepAll, timeToLive } from "./stepping.ts";
import type { StoreParts } from "./store_parts.ts";
import { type Trouble, troubleOfReply } from "./trouble.ts";

/** A batch under way. */
export interface ComparedBatch {
  readonly jobs: readonly Job[];
  /** The keys to compare, with their slots. */
  readonly keys: ReadonlyMap<string, number>;
  /** Whether the slot is being moved to this node, which must be told so. */
  readonly asking: boolean;
  /** Tells callers what was decided. */
  readonly answer: (jobs: readonly Job[]) => void;
}

/** The groups of one slot, in the order of the call. */
type Groups = readonly (readonly Cell[])[];

/** Why a group was not committed: it lost the race, or worse. */
type Fate = "lost" | Trouble;

/** Runs a batch as one script call per slot. */
export async function casCommit(
  node: NodeConnection,
  batch: ComparedBatch,
  parts: StoreParts,
): Promise<BatchEnd> {
  const { clock, known } = parts;
  const cells = new Map<string, Cell>();
  for (const [key, slot] of batch.keys) cells.set(key, cellOf(key, slot, known.textOf(key)));
  const now = (parts.askTime ? clock.now() : undefined) ?? Date.now();
  const stepped = stepAll(batch.jobs, cells, now, known);
  for (const cell of cells.values()) describe(cell);
  const slots = [...groupsBySlot(cells.values()).values()];

  const replies = await callScripts(node, slots, batch.asking, parts);
  if (!cameBack(replies)) return { ...ALL_ANSWERED, unsure: stepped, trouble: replies };
  const fates = new Map<Cell, Fate>();
  for (const [place, groups] of slots.entries()) judge(groups, replies[place], fates, parts);
  return sortOut(stepped, cells, fates, batch.answer);
}

/** The cells that are committed as one, by slot. */
function groupsBySlot(cells: Iterable<Cell>): Map<number, Cell[][]> {
  const slots = new Map<number, Cell[][]>();
  const tied = new Map<Cell, Cell[]>();
  for (const cell of cells) {
    const groups = slots.get(cell.slot) ?? [];
    if (groups.length === 0) slots.set(cell.slot, groups);
    if (!cell.tied) {
      groups.push([cell]);
      continue;
    }
    const root = rootOf(cell);
    const group = tied.get(root) ?? [];
    if (group.length === 0) {
      tied.set(root, group);
      groups.push(group);
    }
    group.push(cell);
  }
  return slots;
}

/** Calls the script for each slot, all in one write; again with its text if the server forgot it. */
async function callScripts(
  node: NodeConnection,
  slots: readonly Groups[],
  asking: boolean,
  parts: StoreParts,
): Promise<readonly unknown[] | Trouble> {
  const calls = slots.map(argumentsOf);
  if (!node.connection.open) return { kind: "lost", error: new Error("The connection was lost") };
  const first = await send("EVALSHA", COMPARE_AND_SET_SHA, calls);
  if (!cameBack(first)) return first;
  const unknown = calls.filter((_, place) => isUnknownScript(first[place]));
  if (unknown.length === 0) return first;
  const second = await send("EVAL", COMPARE_AND_SET, unknown);
  if (!cameBack(second)) return second;
  const again = [...second];
  return first.map((reply) => isUnknownScript(reply) ? again.shift() : reply);

  async function send(
    name: string,
    script: string,
    sent: readonly (readonly string[])[],
  ): Promise<readonly unknown[] | Trouble> {
    const commands: Command[] = [];
    for (const call of sent) {
      if (asking) commands.push(["ASKING"]);
      commands.push([name, script, ...call]);
    }
    parts.counters.roundTrips++;
    const start = performance.now();
    const trip = await roundTrip(node.connection, commands, parts.deadline);
    if (!cameBack(trip)) return trip;
    const replies = asking ? trip.filter((_, place) => place % 2 === 1) : trip;
    takeTime(replies[0], start, parts);
    return replies;
  }
}

function isUnknownScript(reply: unknown): boolean {
  return reply instanceof Error && reply.message.startsWith("NOSCRIPT");
}

function takeTime(reply: unknown, start: number, { clock }: StoreParts): void {
  if (!(reply instanceof Error)) {
    clock.sample(timeOf(reply), start, performance.now());
  }
}

/** The number of keys, the keys, and what the script wants to know of each. */
function argumentsOf(groups: Groups): readonly string[] {
  const keys: string[] = [];
  const texts: string[] = [groups.every(({ length }) => length === 1) ? "" : sizesOf(groups)];
  for (const group of groups) {
    for (const cell of group) {
      keys.push(cell.key);
      texts.push(cell.held ?? "", cell.next ?? "", timeToLive(cell));
    }
  }
  return [String(keys.length), ...keys, ...texts];
}

function sizesOf(groups: Groups): string {
  return groups.map(({ length }) => length).join(" ");
}

/** Reads the script's reply: which groups were not as expected, and what they hold. */
function judge(
  groups: Groups,
  reply: unknown,
  fates: Map<Cell, Fate>,
  { known }: StoreParts,
): void {
  if (reply instanceof Error) {
    const trouble = troubleOfReply(reply);
    for (const group of groups) fates.set(rootOf(group[0]!), trouble);
    return;
  }
  const [, , ...failures] = reply as readonly (string | number)[];
  let at = 0;
  for (const [place, group] of groups.entries()) {
    const lost = failures[at] === place;
    if (lost) {
      fates.set(rootOf(group[0]!), "lost");
      at++;
    }
    for (const cell of group) {
      if (lost) learnHeld(cell, String(failures[at++]), known);
      else learnCommitted(cell, known);
    }
  }
}

function learnCommitted(cell: Cell, known: StoreParts["known"]): void {
  if (cell.changed || cell.state !== undefined) known.learn(cell.key, cell.next, cell.state);
}

function learnHeld(cell: Cell, text: string, known: StoreParts["known"]): void {
  known.learn(cell.key, text === "" ? undefined : text, undefined);
}

/** Answers the calls whose groups were committed: all those that no other fate is known of. */
function sortOut(
  stepped: readonly Job[],
  cells: ReadonlyMap<string, Cell>,
  fates: ReadonlyMap<Cell, Fate>,
  answer: (jobs: readonly Job[]) => void,
): BatchEnd {
  if (fates.size === 0) {
    answer(stepped);
    return ALL_ANSWERED;
  }
  const conflicted: Job[] = [];
  const unapplied: Job[] = [];
  const committed: Job[] = [];
  let trouble: Trouble | undefined;
  for (const job of stepped) {
    const fate = fates.get(fateOf(job, cells));
    if (fate === undefined) committed.push(job);
    else if (fate === "lost") {
      // A value that is no text comes back changed, and would never compare as equal.
      job.watched = job.keys.some((key) => cells.get(key)!.unreadable);
      conflicted.push(job);
    } else {
      unapplied.push(job);
      trouble = fate;
    }
  }
  answer(committed);
  return { ...ALL_ANSWERED, conflicted, unapplied, trouble };
}
