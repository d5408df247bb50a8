/*
 * What the workers of a service have counted, as the main thread learns it: it asks each of them,
 * and keeps what each answered last, so that no sum grows smaller when a worker ends.
 */

import { withTimeout } from "../../../core/toolkit.ts";
import { addFigures, type FiguresSnapshot } from "../metrics/figures_snapshot.ts";

/** Milliseconds for which a worker may take to answer. */
const ANSWER_WITHIN = 1_000;

/** What workers have counted; `Worker` is what each of them is known by. */
export interface WorkerFigures<Worker extends object> {
  readonly last: Map<Worker, FiguresSnapshot>;
  readonly awaited: Map<number, (figures: FiguresSnapshot) => void>;
  /** The sum of those that ended. */
  ofEnded: readonly FiguresSnapshot[];
  nextId: number;
}

/** Makes the figures of no workers yet. */
export function workerFigures<Worker extends object>(): WorkerFigures<Worker> {
  return { last: new Map(), awaited: new Map(), ofEnded: [], nextId: 0 };
}

/**
 * Asks a worker; one that does not answer in time is reported as it last was.
 *
 * @param send Sends the worker the question.
 */
export async function askFigures<Worker extends object>(
  figures: WorkerFigures<Worker>,
  worker: Worker,
  send: (id: number) => void,
): Promise<FiguresSnapshot | undefined> {
  const id = figures.nextId++;
  const answer = new Promise<FiguresSnapshot>((resolve) => figures.awaited.set(id, resolve));
  send(id);
  try {
    return await withTimeout<FiguresSnapshot | undefined>(
      answer,
      ANSWER_WITHIN,
      () => figures.last.get(worker),
    );
  } finally {
    figures.awaited.delete(id);
  }
}

/** Takes a worker's answer. */
export function receiveFigures<Worker extends object>(
  { last, awaited }: WorkerFigures<Worker>,
  worker: Worker,
  id: number,
  answer: FiguresSnapshot,
): void {
  last.set(worker, answer);
  awaited.get(id)?.(answer);
}

/** Keeps what a worker that ended had counted; keys and threads are of those that live. */
export function keepFigures<Worker extends object>(
  figures: WorkerFigures<Worker>,
  worker: Worker,
): void {
  const last = figures.last.get(worker);
  figures.last.delete(worker);
  if (last === undefined) return;
  const ended = { ...last, keys: [], store: {}, threads: 0 };
  figures.ofEnded = [addFigures([...figures.ofEnded, ended])];
}
