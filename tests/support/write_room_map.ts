// `npm run map`: draws the picture in ARCHITECTURE.md anew.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { MAPPED, roomMap, withRoomMap } from "./room_map.ts";
import { filesOf, readText, rootPath } from "./tree.ts";

const page = "ARCHITECTURE.md";
writeFileSync(join(rootPath, page), withRoomMap(readText(page), roomMap(filesOf(MAPPED, ".ts"))));
