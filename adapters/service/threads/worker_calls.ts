/*
 * What the main thread and its workers call in each other.
 */

import type { SharedStoreHandle } from "../../../stores/shared/shared_store.ts";
import type { KeyLimits, RuleFile } from "../../rules/rules.ts";
import type { FiguresSnapshot } from "../metrics/figures_snapshot.ts";
import type { LogEvent } from "../log.ts";
import type { RedisOptions } from "../store_on_redis.ts";
import type { TlsKeys } from "../tls_keys.ts";
import type { Ports, ServerSettings } from "./thread_servers.ts";
import type { LiveDocument, LiveRequest } from "../metrics/live_document.ts";

/** What a worker starts with. */
export interface WorkerSettings extends ServerSettings {
  readonly store: { readonly handle: SharedStoreHandle } | { readonly redis: RedisOptions };
  /** The rules, which the main thread has read. */
  readonly files: readonly RuleFile[];
  /** Whether limits of keys can be asked for. */
  readonly lookups: boolean;
  readonly openTelemetry: boolean;
}

/** What the main thread may call in a worker. */
export interface WorkerCalls {
  /** Puts rules in place. */
  apply(files: readonly RuleFile[]): Promise<void>;
  forgetLookups(): void;
  figures(search?: string): FiguresSnapshot;
  drain(): void;
  /** Puts another certificate in place. */
  secure(keys: TlsKeys): void;
  /** Ends the server and the store, letting calls end for so many milliseconds. */
  stop(grace: number): Promise<void>;
}

/** What a worker may call in the main thread. */
export interface MainCalls {
  /** The worker serves, on these ports. */
  listening(ports: Ports): void;
  /** The worker cannot serve. */
  failed(message: string): void;
  log(event: LogEvent): void;
  /** What all threads have counted. */
  figures(): Promise<FiguresSnapshot>;
  /** What the page shows. */
  live(request: LiveRequest): Promise<LiveDocument>;
  /** The limits of a key's own. */
  limits(domain: string, key: string): Promise<KeyLimits>;
}
