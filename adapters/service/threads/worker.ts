/*
 * A worker of the service: it serves HTTP on the port that all workers share, over the store that
 * all of them share. Rules come from the main thread, whole; what only the main thread knows (the
 * figures of all, limits of keys of their own) is asked for by message.
 *
 * This file is what a worker runs; it is not imported.
 */

import { parentPort, workerData } from "node:worker_threads";

import { attachSharedStore } from "../../../stores/shared/shared_store.ts";
import { type KeyLimits, readRules, type RuleDocument, yamlReader } from "../../rules/rules.ts";
import type { FiguresSnapshot } from "../metrics/figures.ts";
import { type HttpServer, startHttpServer } from "../http/http_server.ts";
import { errorText } from "../log.ts";
import type { FromWorker, Question, QuestionAnswer, ToWorker, WorkerSettings } from "./messages.ts";
import { storeOnRedis } from "../store_on_redis.ts";
import { type ServiceThread, serviceThread } from "./service_thread.ts";

if (parentPort !== null) await work(parentPort, workerData as WorkerSettings);

type Port = NonNullable<typeof parentPort>;

async function work(port: Port, settings: WorkerSettings): Promise<void> {
  const tell = (message: FromWorker) => port.postMessage(message);
  const questions = new Map<number, (answer: QuestionAnswer) => void>();
  let next = 0;

  function ask<Value>(question: Question): Promise<Value> {
    return new Promise((resolve, reject) => {
      const id = next++;
      questions.set(id, (answer) => {
        questions.delete(id);
        if ("error" in answer) reject(new Error(answer.error));
        else resolve(answer.value as Value);
      });
      tell({ kind: "ask", id, question });
    });
  }

  function logError(event: string): (error: unknown, key?: string) => void {
    return (error, key) =>
      tell({ kind: "log", event: { event, level: "error", error: errorText(error), key } });
  }

  const store = "handle" in settings.store
    ? attachSharedStore(settings.store.handle)
    : await storeOnRedis(settings.store.redis, logError("redis-error"));
  const thread: ServiceThread = serviceThread({
    store,
    lookup: settings.lookups
      ? (domain, key) => ask<KeyLimits>({ of: "limits", domain, key })
      : undefined,
    token: settings.token,
    maxBody: settings.maxBody,
    limits: settings.limits,
    trustedProxies: settings.trustedProxies,
    allFigures: () => ask<FiguresSnapshot>({ of: "figures" }),
    reportsStore: false,
    onError: logError("error"),
    onLookupError: logError("lookup-failed"),
  });
  let server: HttpServer | undefined;

  /** The main thread has read these documents before, so that they are right. */
  async function apply(documents: readonly RuleDocument[]): Promise<void> {
    const { rules } = readRules(documents, await yamlReader(), settings.read);
    if (rules !== undefined) thread.apply(rules);
  }

  // Documents take effect in the order in which they came.
  let applied: Promise<void> = Promise.resolve();

  port.on("message", (message: ToWorker) => {
    switch (message.kind) {
      case "rules":
        applied = applied.then(() => apply(message.documents)).catch(logError("error"));
        break;
      case "forgetLookups":
        thread.engine.forgetLookups();
        break;
      case "figures":
        tell({ kind: "figures", id: message.id, figures: thread.figures.snapshot() });
        break;
      case "answer":
        questions.get(message.id)?.(message.answer);
        break;
      case "drain":
        thread.drain();
        break;
      case "stop":
        void stop(message.grace);
    }
  });

  async function stop(grace: number): Promise<void> {
    await server?.stop(grace);
    await store.close();
    // The main thread ends this one.
    tell({ kind: "stopped" });
  }

  try {
    await apply(settings.documents);
    server = await startHttpServer({
      hostname: settings.hostname,
      port: settings.port,
      reusePort: true,
      maxBody: settings.maxBody,
      handler: thread.handler,
    });
    tell({ kind: "listening", port: server.port });
  } catch (error) {
    tell({ kind: "failed", message: errorText(error) });
  }
}
