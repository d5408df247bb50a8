/*
 * The servers of a thread: HTTP, and gRPC where there is a port for it.
 */

import { type GrpcServer, grpcServer } from "../envoy/grpc_server.ts";
import type { CallSettings } from "../serve_options.ts";
import { startHttpServer } from "../http/http_server.ts";
import type { TlsKeys } from "../tls_keys.ts";
import type { ServiceThread } from "./service_thread.ts";

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

/** Starts the servers of a thread; of those that started none is left if one cannot. */
export async function startServers(
  thread: ServiceThread,
  settings: ServerSettings,
  onError: (error: unknown) => void,
): Promise<Servers> {
  const http = await startHttpServer({ ...settings, handler: thread.handler });
  let grpc: GrpcServer | undefined;
  try {
    grpc = settings.grpcPort === undefined ? undefined : await grpcServer({
      ...settings,
      port: settings.grpcPort,
      engine: thread.engine,
      figures: thread.figures,
      isReady: thread.isReady,
      onError,
    });
  } catch (error) {
    await http.stop(0);
    throw error;
  }
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
