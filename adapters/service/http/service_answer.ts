/**
 * What a call is answered, as data. Servers differ in what they send it by, and on node:http a
 * `Response` that is made to be taken apart again costs as much as the rest of a call.
 */
export interface ServiceAnswer {
  readonly status: number;
  /** The header fields, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body; empty if there is none. */
  readonly body: string | Uint8Array<ArrayBuffer>;
}
