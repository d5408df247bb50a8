// `npm run advise [logs] [seed]`: the advice about so many drawn logs, and whom it would have refused.
import process from "node:process";

import { outcomeTable, studyLog } from "../bench/advice_study.ts";

const [logs = 1_000, first = 0] = process.argv.slice(2).map(Number);
const outcomes = [];
for (let seed = first; seed < first + logs; seed++) outcomes.push(await studyLog(seed));
console.log(outcomeTable(outcomes));
const bad = outcomes.filter(({ isPerfect }) => !isPerfect).map(({ seed }) => seed);
console.log(`Not perfect: seeds ${bad.slice(0, 100).join(" ")}`);
