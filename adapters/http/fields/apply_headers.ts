import type { HeaderField } from "./header_writer.ts";

/** What holds header fields: `Headers`, or what an adapter makes of its framework's response. */
export interface HeaderHolder {
  /** The field's value; `null` or `undefined` if there is none. */
  get(name: string): string | null | undefined;
  /** Sets the field, whatever it was. */
  set(name: string, value: string): void;
}

const EXPOSED = "Access-Control-Expose-Headers";
const MEMBER_REGEXP = /(?:"(?:\\.?|[^"\\])*"?|[^",])+/gs;
const NAME_REGEXP = /^"(?:[^"\\]|\\.)*"/;

/**
 * Sets the fields one by one. Where one limit stands before another, their policies come together
 * in one field; one of the same name takes the other's place.
 */
export function applyHeaders(holder: HeaderHolder, fields: readonly HeaderField[]): void {
  if (fields.length === 0) return;
  // If the first one is not there, no other limit has written its own.
  const joins = Boolean(holder.get(fields[0]![0]));
  for (let place = 0; place < fields.length; place++) {
    const [name, value] = fields[place]!;
    if (joins || name === EXPOSED) setJoined(holder, name, value);
    else holder.set(name, value);
  }
}

function setJoined(holder: HeaderHolder, name: string, value: string): void {
  const before = holder.get(name);
  holder.set(name, before && isOneList(name, before, value) ? joinLists(before, value) : value);
}

/** Whether two values make one list. Policies with names and without are of different forms. */
function isOneList(name: string, before: string, after: string): boolean {
  if (name === EXPOSED) return true;
  if (name === "RateLimit") return isNamed(before) && isNamed(after);
  return name === "RateLimit-Policy" && isNamed(before) === isNamed(after);
}

function isNamed(list: string): boolean {
  return list.trimStart().startsWith('"');
}

/** Both lists in one, without those members of the first that the second has as well. */
function joinLists(before: string, after: string): string {
  const named = new Set(membersOf(after).map(nameOf));
  const kept = membersOf(before).filter((member) => !named.has(nameOf(member)));
  return [...kept, after].join(", ");
}

/**
 * The members, divided by the commas that stand in no string. Each character is looked at once: the
 * list may be a stranger's, where the response was fetched.
 */
function membersOf(list: string): readonly string[] {
  const members = list.match(MEMBER_REGEXP) ?? [];
  return members.map((member) => member.trim()).filter((member) => member !== "");
}

/** What a member is called: its string before its parameters; without one all that it says. */
function nameOf(member: string): string {
  return (NAME_REGEXP.exec(member)?.[0] ?? member).toLowerCase();
}
