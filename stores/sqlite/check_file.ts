/*
 * Checks whether processes can share a database file safely. That depends on the version of SQLite, and
 * on the file system.
 */

import { errorMessage } from "../../core/options/checks.ts";
import { builtinModule } from "../builtin_module.ts";
import type { SqliteDatabase } from "./database.ts";

const ALONE = "or only one connection may open the file (shared: false)";

/**
 * Requires a version without the WAL-reset bug, which corrupts files that several connections write.
 *
 * @throws {TypeError} If the version has it.
 */
export function checkVersion(database: SqliteDatabase): void {
  const row = database.prepare("SELECT sqlite_version() AS version").get();
  const { version } = row as { readonly version: string };
  if (!hasWalResetBug(version)) return;
  const rule = `SQLite must be 3.51.3 or later (older ones can corrupt shared files), ${ALONE}`;
  throw new TypeError(errorMessage("open sqliteStore", rule, version));
}

/** Whether a version has the bug: all before 3.51.3 have it, except a release of 3.50 with the fix. */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3 || minor > 51) return major < 3;
  return minor === 51 ? patch < 3 : !(minor === 50 && patch >= 7);
}

/** Linux's numbers for the file systems by which machines share files. */
const NETWORK_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB 2",
  0x01021997: "9P",
  0x5346414f: "AFS",
  0x00c36400: "Ceph",
  0x0bd00bd0: "Lustre",
  0x47504653: "GPFS",
};

interface FileSystem {
  statfsSync?(path: string): { readonly type: number };
}

/**
 * Requires a file on a disk of this machine. Only Linux reports the type of a file system.
 *
 * @throws {TypeError} If the file lies on a network file system.
 */
export function checkPlace(path: string): void {
  const name = networkFileSystem(typeOf(path));
  if (name === undefined) return;
  const rule = `its file must lie on a disk of this machine and not on ${name}, ${ALONE}`;
  throw new TypeError(errorMessage("open sqliteStore", rule, path));
}

/** The name of a network file system, by its type; `undefined` for any other file system. */
export function networkFileSystem(type: number | undefined): string | undefined {
  return type === undefined ? undefined : NETWORK_FILE_SYSTEMS[type >>> 0];
}

function typeOf(path: string): number | undefined {
  const { process } = globalThis as { readonly process?: { readonly platform?: string } };
  if (process?.platform !== "linux") return undefined;
  try {
    return builtinModule<FileSystem>("node:fs")?.statfsSync?.(path).type;
  } catch {
    // The runtime does not permit the question, or the path is a URI.
    return undefined;
  }
}
