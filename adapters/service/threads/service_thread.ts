/*
 * What a thread of the service is made of, be it the only one or a worker: an engine over the store,
 * what it counts, the handler of calls, and its servers: HTTP, and gRPC where there is a port for it.
 */

import type { MaybePromise } from "../../../core/toolkit.ts";
import type { Store } from "../../../mod.ts";
import { type KeyLookup, type RuleEngine, ruleEngine, type RuleSet } from "../../rules/rules.ts";
import { type GrpcServer, grpcServer } from "../envoy/grpc_server.ts";
import { type HttpServer, startHttpServer } from "../http/http_server.ts";
import { type ServiceHandler, serviceHandler } from "../http/service_handler.ts";
import { errorLog, type Log } from "../log.ts";
import { type Figures, figures } from "../metrics/figures.ts";
import type { LiveRequest } from "../metrics/live_document.ts";
import { storeFigures } from "../metrics/store_figures.ts";
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

/** The servers of a thread, or of all threads of a service. */
export interface Servers {
  readonly ports: Ports;
  /** Puts another certificate in place, for connections that come. */
  secure(keys: TlsKeys): Promise<void> | void;
  /** Reports to those who watch it that they take no more calls soon. */
  drain(): void;
  /** Take no more connections, let calls end for so many milliseconds, then end the rest. */
  stop(grace: number): Promise<void>;
}

/** What a thread of the service is made of. */
export interface ThreadOptions extends CallSettings {
  readonly store: Store;
  readonly lookup: KeyLookup | undefined;
  /** What the metrics of all threads are, or what the page shows, as text. */
  readonly show: (what: "metrics" | LiveRequest) => MaybePromise<string>;
  /** Whether this thread reports the figures of the store. */
  readonly reportsStore: boolean;
  readonly log: Log;
}

/** A thread of the service: an engine, what it counts, and the handler of calls. */
export interface ServiceThread {
  readonly engine: RuleEngine;
  readonly figures: Figures;
  readonly handler: ServiceHandler;
  /** Puts rules in place. */
  apply(rules: RuleSet): void;
  /** Starts the servers; of those that started none is left if one cannot. */
  serve(settings: ServerSettings): Promise<Servers>;
  /** Takes no more calls from those who ask whether it is ready. */
  drain(): void;
  /** Closes its store, and ends its measures. */
  close(): Promise<void> | void;
}

/** Makes a thread of the service. */
export function serviceThread(options: ThreadOptions): ServiceThread {
  const { store, reportsStore, log } = options;
  const counted = figures(reportsStore ? storeFigures(store) : undefined);
  let draining = false;
  const engine = ruleEngine({
    store,
    lookup: options.lookup,
    lookupCache: options.lookupCache,
    shadow: options.shadow,
    onLookupError: errorLog(log, "lookup-failed"),
    onVerdict: counted.verdict,
  });
  const counting = { figures: counted, isReady: () => !draining, onError: errorLog(log) };
  const handler = serviceHandler(engine, { ...options, ...counting });
  return {
    engine,
    figures: counted,
    handler,
    apply(rules): void {
      engine.replace(rules);
      counted.keep(rules);
    },
    async serve(settings) {
      const { grpcPort } = settings;
      const http = await startHttpServer({ ...settings, handler });
      let grpc: GrpcServer | undefined;
      try {
        grpc = grpcPort === undefined
          ? undefined
          : await grpcServer({ ...settings, ...counting, port: grpcPort, engine });
      } catch (error) {
        await http.stop(0);
        throw error;
      }
      return serversOf(http, grpc);
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

function serversOf(http: HttpServer, grpc: GrpcServer | undefined): Servers {
  return {
    ports: { port: http.port, grpcPort: grpc?.port },
    secure(keys) {
      grpc?.secure(keys);
      http.secure(keys);
    },
    drain: () => grpc?.drain(),
    async stop(grace) {
      await Promise.all([http.stop(grace), grpc?.stop(grace)]);
    },
  };
}
