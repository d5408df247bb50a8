import { workerData } from "node:worker_threads";
import { answerWrites, begin, type Pair, swapAndRead } from "./plain_order.ts";

const pair = workerData as Pair;
begin(pair);
swapAndRead(pair, 1);
answerWrites(pair);
