/*
 * What the main thread and its workers send each other.
 */

import type { SharedStoreHandle } from "../../../stores/shared/shared_store.ts";
import type { KeyLimits, ReadRulesOptions, RuleDocument } from "../../rules/rules.ts";
import type { FiguresSnapshot } from "../metrics/figures_snapshot.ts";
import type { LogEvent } from "../log.ts";
import type { CallSettings } from "../http/call_settings.ts";
import type { RedisOptions } from "../store_on_redis.ts";

/** What a worker starts with. */
export interface WorkerSettings extends CallSettings {
  readonly store: { readonly handle: SharedStoreHandle } | { readonly redis: RedisOptions };
  readonly documents: readonly RuleDocument[];
  readonly read: ReadRulesOptions;
  /** Whether limits of keys can be asked for. */
  readonly lookups: boolean;
  readonly hostname: string;
  readonly port: number;
}

/** From the main thread to a worker. */
export type ToWorker =
  | { readonly kind: "rules"; readonly documents: readonly RuleDocument[] }
  | { readonly kind: "forgetLookups" }
  | { readonly kind: "figures"; readonly id: number }
  | { readonly kind: "answer"; readonly id: number; readonly answer: QuestionAnswer }
  | { readonly kind: "drain" }
  | { readonly kind: "stop"; readonly grace: number };

/** From a worker to the main thread. */
export type FromWorker =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "figures"; readonly id: number; readonly figures: FiguresSnapshot }
  | { readonly kind: "ask"; readonly id: number; readonly question: Question }
  | { readonly kind: "log"; readonly event: LogEvent }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "stopped" };

/** What a worker asks the main thread for. */
export type Question =
  | { readonly of: "figures" }
  | { readonly of: "limits"; readonly domain: string; readonly key: string };

/** The main thread's answer. */
export type QuestionAnswer =
  | { readonly value: FiguresSnapshot | KeyLimits }
  | { readonly error: string };
