import type { HeaderField } from "./header_writer.ts";

/** What holds header fields: `Headers`, or what an adapter makes of its framework's response. */
export interface HeaderHolder {
  /** The field's value; `null` or `undefined` if there is none. */
  get(name: string): string | null | undefined;
  /** Sets the field, whatever it was. */
  set(name: string, value: string): void;
}

/** Sets the fields one by one. */
export function applyHeaders(holder: HeaderHolder, fields: readonly HeaderField[]): void {
  for (let place = 0; place < fields.length; place++) {
    const [name, value] = fields[place]!;
    holder.set(name, value);
  }
}
