/*
 * One thread of the service, either the only thread or a worker: an engine over the store, its
 * counters, the handler of calls, and its servers: HTTP, and gRPC if a port is given for it.
 */

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
import type { ListenOptions } from "../http/listen_on.ts";
import { type ServiceHandler, serviceHandler } from "../http/service_handler.ts";
import type { ServiceRoutesOptions } from "../http/service_routes.ts";
import { errorLog } from "../log.ts";
import { countingLongValues } from "../long_values.ts";
import { type Figures, figures } from "../metrics/figures.ts";
import type { FiguresSnapshot } from "../metrics/figures_snapshot.ts";
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
export interface ServerSettings extends CallSettings, Ports, ListenOptions {
  readonly tls: TlsKeys | undefined;
}

/** A thread that serves, or several such threads as one. */
export interface Servers {
  readonly ports: Ports;
  /** Puts rules into force. */
  apply(files: readonly RuleFile[], version: RulesVersion): Promise<void> | void;
  forgetLookups(): void;
  /** The counts. They include the keys that a search finds; without a search they have no keys. */
  figures(search?: string): FiguresSnapshot | Promise<FiguresSnapshot>;
  /** Replaces the certificate for new connections. */
  secure(keys: TlsKeys): Promise<void> | void;
  /** Tells health checks and watchers that it will soon take no more calls. */
  drain(): void;
  /** Takes no more connections, gives calls so many milliseconds to end, then ends the rest. */
  stop(grace: number): Promise<void>;
}

/** The functions through which a thread reaches the whole service. */
export interface ThreadLinks extends Pick<ServiceRoutesOptions, "show" | "log"> {
  readonly lookup: KeyLookup | undefined;
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
  /** Puts rules into force. */
  apply(rules: RuleSet, version: RulesVersion): void;
  /** Starts the servers. If one cannot start, the started servers are stopped. */
  serve(settings: ServerSettings): Promise<Servers>;
  /** Closes its store, and ends its measurements. */
  close(): Promise<void> | void;
}

/** Makes a thread of the service. */
export function serviceThread(options: ThreadOptions): ServiceThread {
  const { store, reportsStore, log } = options;
  const counted = figures(reportsStore ? storeFigures(store) : undefined);
  let draining = false;
  let version = NO_VERSION;
  const outages = logOutages(log);
  const rules = ruleEngine({
    store,
    lookup: options.lookup,
    lookupCache: options.lookupCache,
    shadow: options.shadow,
    onLookupError: errorLog(log, "lookup-failed"),
    onVerdict(verdict) {
      counted.verdict(verdict);
      outages.verdict(verdict);
    },
  });
  const secret = options.token ?? "tidegate";
  const engine = countingLongValues(rules, options.limits.maxText, secret);
  const logError = errorLog(log);
  const counting = {
    figures: counted,
    isReady: () => !draining,
    onError(error: unknown) {
      outages.error(error);
      logError(error);
    },
  };
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
