/*
 * One thread of the service, be it the only one or a worker: an engine over the store, its
 * counters, the handler of calls, and its servers: HTTP, and gRPC if a port is given for it.
 */

import type { MaybePromise } from "../../../core/application_support.ts";
import type { Store } from "../../../mod.ts";
import {
  compileRules,
  type KeyLookup,
  type RuleEngine,
  ruleEngine,
  type RuleFile,
  type RuleSet,
} from "../../rules/rules.ts";
import { grpcServer } from "../envoy/grpc_server.ts";
import { startHttpServer } from "../http/http_server.ts";
import { type ServiceHandler, serviceHandler } from "../http/service_handler.ts";
import { errorLog, type Log } from "../log.ts";
import { countingLongValues } from "../long_values.ts";
import { type Figures, figures } from "../metrics/figures.ts";
import type { FiguresSnapshot } from "../metrics/figures_snapshot.ts";
import type { LiveRequest } from "../metrics/live_document.ts";
import { storeFigures } from "../metrics/store_figures.ts";
import { logOutages } from "../outages.ts";
import { NO_VERSION, type RulesVersion } from "../rules_version.ts";
import type { CallSettings } from "../serve_options.ts";
import type { TlsKeys } from "../tls_keys.ts";

/** Where the servers of a service listen; 0 for a free port. */
export interface Ports {
  readonly port: number;
  /** `undefined` without gRPC. */
  readonly grpcPort: number | undefined;
}

/** Where and how the servers of a thread listen. */
export interface ServerSettings extends CallSettings, Ports {
  readonly hostname: string;
  /** Whether other threads share the ports. */
  readonly reusePort: boolean;
  readonly tls: TlsKeys | undefined;
}

/** A thread that serves, or several of them as one. */
export interface Servers {
  readonly ports: Ports;
  /** Puts rules in place. */
  apply(files: readonly RuleFile[], version: RulesVersion): Promise<void> | void;
  forgetLookups(): void;
  /** The counts; of keys, only those that a search finds, so without a search no keys. */
  figures(search?: string): MaybePromise<FiguresSnapshot>;
  /** Puts another certificate in place, for connections that come. */
  secure(keys: TlsKeys): Promise<void> | void;
  /** Reports to health checks, and to those who watch its health, that it takes no more calls soon. */
  drain(): void;
  /** Take no more connections, let calls end for so many milliseconds, then end the rest. */
  stop(grace: number): Promise<void>;
}

/** The functions of a thread that reach beyond it. */
export interface ThreadLinks {
  readonly lookup: KeyLookup | undefined;
  /** The metrics of all threads, or the document of the page, as text. */
  readonly show: (what: "metrics" | LiveRequest) => MaybePromise<string>;
  readonly log: Log;
}

/** The parts and options of a thread of the service. */
export interface ThreadOptions extends CallSettings, ThreadLinks {
  readonly store: Store;
  /** Whether this thread reports the figures of the store. */
  readonly reportsStore: boolean;
}

/** A thread of the service: an engine, its counters, and the handler of calls. */
export interface ServiceThread {
  readonly engine: RuleEngine;
  readonly figures: Figures;
  readonly handler: ServiceHandler;
  /** Puts rules in place. */
  apply(rules: RuleSet, version: RulesVersion): void;
  /** Starts the servers; if one cannot start, those that have started are stopped. */
  serve(settings: ServerSettings): Promise<Servers>;
  /** Closes its store, and ends its measures. */
  close(): Promise<void> | void;
}

/** Makes a thread of the service. */
export function serviceThread(options: ThreadOptions): ServiceThread {
  const { store, reportsStore, log } = options;
  const counted = figures(reportsStore ? storeFigures(store) : undefined);
  let draining = false;
  let version = NO_VERSION;
  const rules = ruleEngine({
    store,
    lookup: options.lookup,
    lookupCache: options.lookupCache,
    shadow: options.shadow,
    onLookupError: errorLog(log, "lookup-failed"),
    onVerdict: counted.verdict,
  });
  const outages = logOutages(rules, log);
  const secret = options.token ?? "tidegate";
  const engine = countingLongValues(outages.engine, options.limits.maxText, secret);
  const counting = { figures: counted, isReady: () => !draining, onError: errorLog(log) };
  const handler = serviceHandler(engine, {
    ...options,
    ...counting,
    outages,
    version: () => version,
  });

  function snapshot(search?: string): FiguresSnapshot {
    return { ...counted.snapshot(search), unavailableSince: outages.since() };
  }

  function apply(rules: RuleSet, applied: RulesVersion): void {
    version = applied;
    engine.replace(rules);
    counted.keep(rules);
  }

  async function serve(settings: ServerSettings): Promise<Servers> {
    const { grpcPort } = settings;
    const http = await startHttpServer({ ...settings, handler });
    const grpc = grpcPort === undefined
      ? undefined
      : await grpcServer({ ...settings, ...counting, port: grpcPort, engine })
        .catch(async (error) => {
          await http.stop(0);
          throw error;
        });
    // Rules take effect in the order in which they came.
    let applied = Promise.resolve();
    return {
      ports: { port: http.port, grpcPort: grpc?.port },
      apply: (files, version) =>
        applied = applied.then(async () => apply(await compileRules(files), version))
          .catch(errorLog(log)),
      forgetLookups: engine.forgetLookups,
      figures: snapshot,
      secure(keys) {
        grpc?.secure(keys);
        http.secure(keys);
      },
      drain() {
        draining = true;
        grpc?.drain();
      },
      async stop(grace) {
        await Promise.all([http.stop(grace), grpc?.stop(grace)]);
      },
    };
  }

  return {
    engine,
    figures: { ...counted, snapshot },
    handler,
    apply,
    serve,
    close() {
      counted.close();
      return store.close();
    },
  };
}
