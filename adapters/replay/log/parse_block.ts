/*
 * The reader of all forms: blocks of bytes in, columns of numbers out. A line becomes no string;
 * only a client that is new does.
 *
 * Lines are written by whoever sends requests: each is read once from left to right, and what does
 * not fit is counted, with a reason.
 */

import { Buffer } from "node:buffer";

import { addressKey } from "../../http/http.ts";
import { keyTable, LONGEST_KEY } from "./key_table.ts";
import { type Field, FORMS, type Layout } from "./layout.ts";
import { lineFields } from "./line_fields.ts";
import type { LogRecord, ReadLogOptions } from "./read_log_options.ts";
import type { Columns, UnreadLine } from "./trace.ts";

/** Reads blocks of whole lines, one after the other. */
export type BlockParser = (block: Uint8Array, layout: Layout) => Columns;

/** Makes a parser, which begins anew at each change of the layout. */
export function blockParser(options: ReadLogOptions = {}): BlockParser {
  let known: string | undefined;
  let parse: (block: Uint8Array) => Columns;
  return (block, layout) => {
    const text = JSON.stringify(layout);
    if (text !== known) parse = layoutParser(layout, options);
    known = text;
    return parse(block);
  };
}

/** How many unread lines are kept to be shown. */
export const SHOWN_LINES = 3;

const NEWLINE = 10;
const RETURN = 13;
const HASH = 0x23;

function layoutParser(
  layout: Layout,
  { key, cost, onBadLine }: ReadLogOptions,
): (block: Uint8Array) => Columns {
  const keyOf = typeof key === "function" ? key : undefined;
  const costOf = typeof cost === "function" ? cost : undefined;
  const { network } = layout;
  const table = keyTable();
  const usesRecord = keyOf !== undefined || costOf !== undefined;
  const fields = lineFields(layout, usesRecord);
  const hasComments = FORMS[layout.format].directives === true;
  let ats = new Float64Array(1 << 12);
  let clients = new Uint32Array(1 << 12);
  let costs = new Float64Array(1 << 12);
  /** The last line's. */
  let at = 0;
  let client = 0;
  let units = 1;
  let isFirst = true;

  /** Reads a line; returns why it cannot be read. */
  function read(bytes: Buffer, from: number, to: number): string | undefined {
    if (to - from > layout.maxLine) return `it is longer than ${layout.maxLine} bytes`;
    if (!fields.open(bytes, from, to)) return `it has not the form ${layout.format}`;
    at = fields.time();
    if (at < 0) return `no time can be read in ${namesOf(layout.time)}`;
    const record = usesRecord ? recordOf() : undefined;
    if (costOf !== undefined) units = costOf(record!);
    else if (layout.cost.length > 0) {
      units = 0;
      for (const field of layout.cost) units += Number(fields.text(field) || NaN);
    }
    if (!Number.isSafeInteger(units) || units < 1) return "its cost is no positive integer";
    client = keyOf === undefined ? fields.client(table) : table.idOfText(keyOf(record!));
    if (client >= 0) return undefined;
    return `no client of 1 to ${LONGEST_KEY} bytes is named in ${namesOf(layout.key) || "its key"}`;
  }

  function recordOf(): LogRecord {
    return { at, host: fields.host() ?? "", fields: fields.all() };
  }

  function grow(): void {
    const [before, clientsBefore, costsBefore] = [ats, clients, costs];
    (ats = new Float64Array(2 * before.length)).set(before);
    (clients = new Uint32Array(2 * before.length)).set(clientsBefore);
    (costs = new Float64Array(2 * before.length)).set(costsBefore);
  }

  return function parse(block) {
    const bytes = Buffer.from(block.buffer, block.byteOffset, block.length);
    const restarts = table.forgetIfLarge() || isFirst;
    isFirst = false;
    const firstUnread: UnreadLine[] = [];
    let unread = 0;
    let lines = 0;
    let count = 0;
    let isOne = true;
    for (let from = 0, next = 0; from < bytes.length; from = next) {
      const end = bytes.indexOf(NEWLINE, from);
      next = end === -1 ? bytes.length : end + 1;
      let to = end === -1 ? next : end;
      if (to > from && bytes[to - 1] === RETURN) to--;
      lines++;
      if (to === from || (hasComments && bytes[from] === HASH)) continue;
      const reason = read(bytes, from, to);
      if (reason === undefined) {
        if (count === ats.length) grow();
        ats[count] = at;
        clients[count] = client;
        costs[count++] = units;
        if (units !== 1) isOne = false;
        continue;
      }
      if (unread++ >= SHOWN_LINES && onBadLine === undefined) continue;
      const text = bytes.toString("utf8", from, Math.min(to, from + 800)).slice(0, 200);
      if (unread <= SHOWN_LINES) firstUnread.push({ line: lines, text, reason });
      onBadLine?.(text, reason);
    }
    const keys = table.takeNew();
    return {
      at: ats.slice(0, count),
      client: clients.slice(0, count),
      cost: isOne ? undefined : costs.slice(0, count),
      keys: network === undefined ? keys : keys.map((name) => addressKey(name, network) ?? name),
      restarts,
      lines,
      unread,
      firstUnread,
    };
  };
}

function namesOf(fields: readonly Field[]): string {
  return fields.map(({ name }) => name).join(" or ");
}
