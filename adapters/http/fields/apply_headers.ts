/*
 * Sets the rate limit fields on any framework's response. If two limits guard one route, the second
 * must not overwrite the fields of the first.
 */

import type { HeaderField } from "./header_writer.ts";

/** Holds header fields: `Headers`, or an adapter's view of its framework's response. */
export interface HeaderHolder {
  /** The field's value; `null` or `undefined` if there is none. */
  get(name: string): string | null | undefined;
  /** Sets the field, whether it was set or not. */
  set(name: string, value: string): void;
}

const EXPOSED = "Access-Control-Expose-Headers";
const MEMBER_REGEXP = /(?:"(?:\\.?|[^"\\])*"?|[^",])+/gs;
const NAME_REGEXP = /^"(?:[^"\\]|\\.)*"/;

/**
 * Sets the fields one by one. If another limit has already set them, the policies of both are
 * joined in one field; a policy replaces an earlier one of the same name.
 */
export function applyHeaders(holder: HeaderHolder, fields: readonly HeaderField[]): void {
  if (fields.length === 0) return;
  // If the first field is missing, no other limit has written any.
  const joins = Boolean(holder.get(fields[0]![0]));
  for (let index = 0; index < fields.length; index++) {
    const [name, value] = fields[index]!;
    if (joins || name === EXPOSED) setJoined(holder, name, value);
    else holder.set(name, value);
  }
}

function setJoined(holder: HeaderHolder, name: string, value: string): void {
  const before = holder.get(name);
  holder.set(name, before && isOneList(name, before, value) ? joinLists(before, value) : value);
}

/** Whether two values can be one list. Policies with and without names have different forms. */
function isOneList(name: string, before: string, after: string): boolean {
  if (name === EXPOSED) return true;
  if (name === "RateLimit") return isNamed(before) && isNamed(after);
  return name === "RateLimit-Policy" && isNamed(before) === isNamed(after);
}

function isNamed(list: string): boolean {
  return list.trimStart().startsWith('"');
}

/** Both lists in one, without the members of the first list that are in the second as well. */
function joinLists(before: string, after: string): string {
  const named = new Set(membersOf(after).map(nameOf));
  const kept = membersOf(before).filter((member) => !named.has(nameOf(member)));
  return [...kept, after].join(", ");
}

/**
 * The members, divided by the commas outside of strings. Each character is looked at once, because
 * the list comes from another server if the response was fetched.
 */
function membersOf(list: string): readonly string[] {
  const members = list.match(MEMBER_REGEXP) ?? [];
  return members.map((member) => member.trim()).filter((member) => member !== "");
}

/** The name of a member: the string before its parameters, or the whole member without one. */
function nameOf(member: string): string {
  return (NAME_REGEXP.exec(member)?.[0] ?? member).toLowerCase();
}
