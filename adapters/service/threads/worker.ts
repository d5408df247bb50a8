/*
 * A worker of the service: it serves HTTP on the port that all workers share, over the store that
 * all of them share. Rules come from the main thread, whole; what only the main thread knows (the
 * figures of all, limits of keys of their own) is asked for by message.
 *
 * This file is what a worker runs; it is not imported.
 */

import { parentPort, workerData } from "node:worker_threads";

import type { Store } from "../../../mod.ts";
import { attachSharedStore } from "../../../stores/shared/shared_store.ts";
import { type KeyLimits, readRules, type RuleDocument, yamlReader } from "../../rules/rules.ts";
import { type HttpServer, startHttpServer } from "../http/http_server.ts";
import { errorText } from "../log.ts";
import type { FiguresSnapshot } from "../metrics/figures_snapshot.ts";
import { storeOnRedis } from "../store_on_redis.ts";
import type { FromWorker, Question, QuestionAnswer, ToWorker, WorkerSettings } from "./messages.ts";
import { type ServiceThread, serviceThread } from "./service_thread.ts";

if (parentPort !== null) await work(parentPort, workerData as WorkerSettings);

type Port = NonNullable<typeof parentPort>;

/** The worker's end of the port: what it sends, and the questions that are not answered yet. */
interface MainThread {
  readonly port: Port;
  readonly questions: Map<number, (answer: QuestionAnswer) => void>;
  nextId: number;
}

interface RunningWorker {
  readonly main: MainThread;
  readonly settings: WorkerSettings;
  readonly store: Store;
  readonly thread: ServiceThread;
  server: HttpServer | undefined;
  /** Documents take effect in the order in which they came. */
  applied: Promise<void>;
}

async function work(port: Port, settings: WorkerSettings): Promise<void> {
  const main: MainThread = { port, questions: new Map(), nextId: 0 };
  const store = "handle" in settings.store
    ? attachSharedStore(settings.store.handle)
    : await storeOnRedis(settings.store.redis, (error) => logError(main, "redis-error", error));
  const thread = threadOn(main, settings, store);
  const applied = Promise.resolve();
  const worker: RunningWorker = { main, settings, store, thread, server: undefined, applied };
  port.on("message", (message: ToWorker) => receive(worker, message));
  try {
    await apply(worker, settings.documents);
    worker.server = await startHttpServer({
      hostname: settings.hostname,
      port: settings.port,
      reusePort: true,
      maxConnections: settings.maxConnections,
      handler: thread.handler,
    });
    send(main, { kind: "listening", port: worker.server.port });
  } catch (error) {
    send(main, { kind: "failed", message: errorText(error) });
  }
}

function threadOn(main: MainThread, settings: WorkerSettings, store: Store): ServiceThread {
  return serviceThread({
    ...settings,
    store,
    lookup: settings.lookups
      ? (domain, key) => ask<KeyLimits>(main, { of: "limits", domain, key })
      : undefined,
    allFigures: () => ask<FiguresSnapshot>(main, { of: "figures" }),
    reportsStore: false,
    onError: (error) => logError(main, "error", error),
    onLookupError: (error, key) => logError(main, "lookup-failed", error, key),
  });
}

function send({ port }: MainThread, message: FromWorker): void {
  port.postMessage(message);
}

function logError(main: MainThread, event: string, error: unknown, key?: string): void {
  send(main, { kind: "log", event: { event, level: "error", error: errorText(error), key } });
}

function ask<Value>(main: MainThread, question: Question): Promise<Value> {
  return new Promise((resolve, reject) => {
    const id = main.nextId++;
    main.questions.set(id, (answer) => {
      main.questions.delete(id);
      if ("error" in answer) reject(new Error(answer.error));
      else resolve(answer.value as Value);
    });
    send(main, { kind: "ask", id, question });
  });
}

function receive(worker: RunningWorker, message: ToWorker): void {
  const { main, thread } = worker;
  switch (message.kind) {
    case "rules":
      worker.applied = worker.applied
        .then(() => apply(worker, message.documents))
        .catch((error) => logError(main, "error", error));
      break;
    case "forgetLookups":
      thread.engine.forgetLookups();
      break;
    case "figures":
      send(main, { kind: "figures", id: message.id, figures: thread.figures.snapshot() });
      break;
    case "answer":
      main.questions.get(message.id)?.(message.answer);
      break;
    case "drain":
      thread.drain();
      break;
    case "stop":
      void stop(worker, message.grace);
  }
}

/** Puts rules in place. The main thread has read these documents before, so that they are right. */
async function apply(
  { thread, settings }: RunningWorker,
  documents: readonly RuleDocument[],
): Promise<void> {
  const { rules } = readRules(documents, await yamlReader(), settings.read);
  if (rules !== undefined) thread.apply(rules);
}

async function stop({ server, store, main }: RunningWorker, grace: number): Promise<void> {
  await server?.stop(grace);
  await store.close();
  // The main thread ends this one.
  send(main, { kind: "stopped" });
}
