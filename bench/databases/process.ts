// One process of several that load a database: started by ../redis/crowd.ts, prints its figures as JSON.
import process from "node:process";

import { load, type Workload, WORKLOADS } from "../redis/load.ts";
import { connect } from "./contestants.ts";

const [name = "", place = "", workload = "", milliseconds = "", start = ""] = process.argv.slice(2);
const contestant = await connect(name, place, false);
const keys = WORKLOADS[workload as Workload]();
await load(contestant, 64, Number(start) - Date.now(), keys);
console.log(JSON.stringify(await load(contestant, 64, Number(milliseconds), keys)));
await contestant.close();
process.exit();
