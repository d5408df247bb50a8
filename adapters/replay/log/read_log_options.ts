import type { OptionNames } from "../../../core/toolkit.ts";
import type { LogFormat } from "./layout.ts";

/** What a line of a log says, for keys and costs that are functions. */
export interface LogRecord {
  /** When: whole milliseconds since the Unix epoch. */
  readonly at: number;
  /** The client's host or address; empty if the log has none. */
  readonly host: string;
  /** The other fields, by their names: those of the form, or the columns of the header line. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The names of columns, or the paths of values in objects: `request.client_ip`. */
export interface ColumnOptions {
  /** Holds the time; default one with a usual name, such as `time`, `timestamp` or `ts`. */
  readonly time?: string | undefined;
  /** Holds the client; default one with a usual name, such as `remote_addr`, `client` or `host`. */
  readonly host?: string | undefined;
}

/** The options of `readLog`. */
export interface ReadLogOptions {
  /** The form of the lines; default the one that reads most of the first lines. */
  readonly format?: LogFormat | undefined;
  /** Which columns hold the time and the client, in any case of letters. */
  readonly columns?: ColumnOptions | undefined;
  /**
   * Whose a request was: a column; `ip/64` for the address, of IPv6 ones so many bits; or a
   * function. Default the client's host, or `"all"` where the log has none.
   */
  readonly key?: string | ((record: LogRecord) => string) | undefined;
  /**
   * Units that a request took: columns, which are summed, or a function; default 1. What is no
   * positive integer is not taken for one.
   */
  readonly cost?: string | readonly string[] | ((record: LogRecord) => number) | undefined;
  /** The longest line in bytes; longer ones are no entries; default 65,536. */
  readonly maxLine?: number | undefined;
  /** Called with each line that is no entry, shortened to 200 characters, and why. */
  readonly onBadLine?: ((line: string, reason: string) => void) | undefined;
}

/** Their names. */
export const LOG_OPTIONS: OptionNames<ReadLogOptions> = {
  format: true,
  columns: true,
  key: true,
  cost: true,
  maxLine: true,
  onBadLine: true,
};
