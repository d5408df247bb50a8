// One process of several that load a server: started by crowd.ts, prints its figures as JSON.
import process from "node:process";

import { connect } from "./contestants.ts";
import { load, type Workload, WORKLOADS } from "./load.ts";

const [name = "", url = "", workload = "", milliseconds = "", start = ""] = process.argv.slice(2);
const contestant = await connect(name, url, false);
const keys = WORKLOADS[workload as Workload]();
await load(contestant, 64, Number(start) - Date.now(), keys);
console.log(JSON.stringify(await load(contestant, 64, Number(milliseconds), keys)));
await contestant.close();
