/*
 * Commits batches by a script, all in one write. There is one script call for each hash slot, and one
 * for each set of calls that must be alone.
 */

import type { Batch } from "../../optimistic/batch.ts";
import type { CommitCallbacks } from "../../optimistic/driver.ts";
import type { Cell } from "../../stepping/cell.ts";
import type { Job } from "../../optimistic/job.ts";
import { type CommitCall, commitCallsOf } from "../../optimistic/commit_calls.ts";
import type { Command } from "../clients/connection.ts";
import {
  type CommitNode,
  countedRoundTrip,
  hasReplies,
  type RoundTrip,
} from "../connections/round_trip.ts";
import { connectionLost } from "../../optimistic/batch_failure.ts";
import { failureOfReply } from "../failures/reply_failure.ts";
import type { StoreContext } from "../store_context.ts";

/** Calls that one script commits. */
export interface CommitScript {
  readonly text: string;
  readonly jobs: readonly Job[];
  /** Makes a script call. It may change the order of the cells. */
  commandOf(call: CommitCall): Command;
  /** Reports calls by the part of the script's reply that follows the time. */
  readReply(call: CommitCall, reply: readonly unknown[]): void;
}

/** The index in a reply after the server's time. */
export const AFTER_TIME = 2;

/** A script call that was sent. */
interface SentCall {
  readonly script: CommitScript;
  readonly call: CommitCall;
  /** The EVALSHA command. */
  readonly command: Command;
}

/** Commits calls of a batch by scripts, all in one write. */
export async function commitByScripts(
  node: CommitNode,
  batch: Batch,
  { fail }: CommitCallbacks,
  scripts: readonly CommitScript[],
  context: StoreContext,
): Promise<void> {
  const jobs = scripts.length === 1 ? scripts[0]!.jobs : scripts.flatMap((script) => script.jobs);
  if (jobs.length === 0) return;
  if (!node.connection.open) return fail(jobs, connectionLost());
  const calls = scripts.flatMap((script) =>
    commitCallsOf(script.jobs, batch).map((call): SentCall => ({
      script,
      call,
      command: script.commandOf(call),
    }))
  );
  const replies = await callScripts(node, calls, context);
  if (!hasReplies(replies)) return fail(jobs, { ...replies, applied: "unknown" });
  const failed: [readonly Job[], Error][] = [];
  for (const [index, { script, call }] of calls.entries()) {
    const reply = replies[index];
    if (reply instanceof Error) failed.push([call.jobs, reply]);
    else script.readReply(call, reply as readonly unknown[]);
  }
  // Report failures last, because a failed call also fails the calls that lost a race.
  for (const [jobs, error] of failed) fail(jobs, failureOfReply(error));
}

/** The beginning of a script call, up to the keys of the cells. */
export function scriptCommand(sha: string, cells: readonly Cell[]): string[] {
  const command = ["EVALSHA", sha, String(cells.length)];
  for (const { name } of cells) command.push(name);
  return command;
}

/**
 * Sends script calls in one write: as EVALSHA, and again as EVAL with the script's text if the server
 * does not know the script. The first two values of every reply are the server's time.
 */
async function callScripts(
  node: CommitNode,
  calls: readonly SentCall[],
  context: StoreContext,
): Promise<RoundTrip> {
  const first = await send(calls.map(({ command }) => command));
  if (!hasReplies(first)) return first;
  const unknown = calls.filter((_, index) => isUnknownScript(first[index]));
  if (unknown.length === 0) return first;
  const second = await send(
    unknown.map(({ script: { text }, command: [, , ...rest] }) => ["EVAL", text, ...rest]),
  );
  if (!hasReplies(second)) return second;
  const again = [...second];
  return first.map((reply) => isUnknownScript(reply) ? again.shift() : reply);

  function send(commands: readonly Command[]): Promise<RoundTrip> {
    return countedRoundTrip(node, commands, context, ([reply]) => reply);
  }
}

function isUnknownScript(reply: unknown): boolean {
  return reply instanceof Error && reply.message.startsWith("NOSCRIPT");
}
