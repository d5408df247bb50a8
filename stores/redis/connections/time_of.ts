/** The milliseconds of a reply to TIME: seconds and microseconds. */
export function timeOf(reply: unknown): number {
  const [seconds, microseconds] = reply as readonly unknown[];
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}
