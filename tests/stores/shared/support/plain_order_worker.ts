import { workerData } from "node:worker_threads";
import { writePairs } from "./plain_order.ts";

writePairs(workerData as Int32Array);
