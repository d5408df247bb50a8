/*
 * A list whose items contain their own links, so that any item leaves it in one step.
 */

/** The links that an item of a linked list contains; only this file changes them. */
export interface Links<Item> {
  /** The list that the item is in. */
  list: LinkedList<Item> | undefined;
  /** The item before it. */
  previous: Item | undefined;
  /** The item after it. */
  next: Item | undefined;
}

/** Items in the order in which they came. An item is in at most one list. */
export interface LinkedList<Item> {
  first: Item | undefined;
  last: Item | undefined;
}

/** Makes a list without items. */
export function linkedList<Item>(): LinkedList<Item> {
  return { first: undefined, last: undefined };
}

/** Adds an item at the end; it must be in no list. */
export function append<Item extends Links<Item>>(list: LinkedList<Item>, item: Item): void {
  const { last } = list;
  item.list = list;
  item.previous = last;
  item.next = undefined;
  list.last = item;
  if (last === undefined) list.first = item;
  else last.next = item;
}

/** Takes an item out of its list, if it is in one. */
export function remove<Item extends Links<Item>>(item: Item): void {
  const { list, previous, next } = item;
  if (list === undefined) return;
  if (previous === undefined) list.first = next;
  else previous.next = next;
  if (next === undefined) list.last = previous;
  else next.previous = previous;
  item.list = item.previous = item.next = undefined;
}
