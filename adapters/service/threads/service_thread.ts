/*
 * What a thread of the service is made of, be it the only one or a worker: an engine over the store,
 * what it counts, and the handler of calls.
 */

import type { MaybePromise } from "../../../core/toolkit.ts";
import type { Store } from "../../../mod.ts";
import { type KeyLookup, type RuleEngine, ruleEngine, type RuleSet } from "../../rules/rules.ts";
import { type Figures, figures } from "../metrics/figures.ts";
import type { FiguresSnapshot } from "../metrics/figures_snapshot.ts";
import type { LiveDocument, LiveRequest } from "../metrics/live_document.ts";
import { storeFigures } from "../metrics/store_figures.ts";
import { type ServiceHandler, serviceHandler } from "../http/service_handler.ts";
import type { CallSettings } from "../serve_options.ts";

/** What a thread of the service is made of. */
export interface ThreadOptions extends CallSettings {
  readonly store: Store;
  readonly lookup: KeyLookup | undefined;
  /** What all threads have counted. */
  readonly allFigures: () => MaybePromise<FiguresSnapshot>;
  /** What the page shows. */
  readonly live: (request: LiveRequest) => MaybePromise<LiveDocument>;
  /** Whether this thread reports the figures of the store. */
  readonly reportsStore: boolean;
  readonly onError: (error: unknown) => void;
  readonly onLookupError: (error: unknown, key: string) => void;
}

/** A thread of the service: an engine, what it counts, and the handler of calls. */
export interface ServiceThread {
  readonly engine: RuleEngine;
  readonly figures: Figures;
  readonly handler: ServiceHandler;
  /** Whether it takes calls: it is not stopping. */
  isReady(): boolean;
  /** Puts rules in place. */
  apply(rules: RuleSet): void;
  /** Takes no more calls from those who ask whether it is ready. */
  drain(): void;
  /** Closes its store, and ends its measures. */
  close(): Promise<void> | void;
}

/** Makes a thread of the service. */
export function serviceThread(options: ThreadOptions): ServiceThread {
  const { store, reportsStore } = options;
  const counted = figures(reportsStore ? storeFigures(store) : undefined);
  let draining = false;
  const engine = ruleEngine({
    store,
    lookup: options.lookup,
    lookupCache: options.lookupCache,
    shadow: options.shadow,
    onLookupError: options.onLookupError,
    onVerdict: counted.verdict,
  });
  const isReady = () => !draining;
  const handler = serviceHandler(engine, {
    ...options,
    figures: counted,
    isReady,
  });
  return {
    isReady,
    engine,
    figures: counted,
    handler,
    apply(rules): void {
      engine.replace(rules);
      counted.keep(rules);
    },
    drain(): void {
      draining = true;
    },
    close() {
      counted.close();
      return store.close();
    },
  };
}
