/**
 * The decision service. Any proxy or program can ask it for decisions by rules, over HTTP, Envoy's
 * protocol or a proxy's `auth_request`.
 *
 * @example
 * ```ts
 * import { serve } from "tidegate/serve";
 * import { objectSource } from "tidegate/rules";
 *
 * const service = await serve({
 *   rules: objectSource({
 *     domain: "shop",
 *     rules: [{ key: "user", limits: [{ limit: 100, period: "1m", burst: 100 }] }],
 *   }),
 *   port: 0,
 * });
 * console.log(`asked at ${service.url}/v1/consume`);
 * await service.stop();
 * ```
 *
 * @module
 */

export { commandLine, type CommandWorld } from "../command/command_line.ts";
export type {
  FiguresSnapshot,
  KeyFigures,
  RuleFigures,
  VerdictFigures,
} from "./metrics/figures_snapshot.ts";
export type { Histogram } from "./metrics/histogram.ts";
export { lineLog, type Log, type LogEvent } from "./log.ts";
export { REQUEST_BOUNDS, type RequestBounds } from "./http/request_bounds.ts";
export { serve, type Service } from "./serve.ts";
export type {
  PostgresOptions,
  RedisOptions,
  ServeOptions,
  SqliteOptions,
} from "./serve_options.ts";
export type { TlsFiles } from "./tls_keys.ts";
export type { RuleSource } from "../rules/rules.ts";
