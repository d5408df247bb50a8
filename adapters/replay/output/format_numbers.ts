/** A number as people read it: `26,450,535`. */
export function count(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number and what is counted: `1 line`, `2 lines`. */
export function counted(number: number, one: string, many: string = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A part in percent: `15.9`. */
export function percent(part: number, whole: number): string {
  if (part === 0) return "0";
  const share = part / whole * 100;
  return share < 0.01 ? "< 0.01" : share < 10 ? share.toFixed(2) : share.toFixed(1);
}

/** An instant as a date and a time of day, in UTC. */
export function instantText(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replace("T", " ");
}

/**
 * Text of a log, short and fit for a terminal: without characters that control it.
 *
 * @param most How many characters are kept.
 */
export function safeText(text: string, most = 60): string {
  const shown = text.length > most ? `${text.slice(0, most)}...` : text;
  // deno-lint-ignore no-control-regex
  return shown.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}
