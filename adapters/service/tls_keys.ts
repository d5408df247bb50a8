/*
 * The certificate of the service: PEM files, which are read again while it runs. If new files
 * cannot be used, the old certificate stays.
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type TlsOptions } from "node:tls";

import { errorText, type Log } from "./log.ts";

/** The PEM files of the certificate. */
export interface TlsFiles {
  /** The file of the certificate and the intermediate certificates. */
  readonly cert: string;
  /** The file of its private key. */
  readonly key: string;
  /**
   * The file of the authorities that must have issued the clients' certificates; without it clients
   * need no certificate.
   */
  readonly ca?: string | undefined;
  /** Milliseconds between looks at the files; default 2,000. */
  readonly pollEvery?: number | undefined;
}

/** The content of the files. */
export interface TlsKeys {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
}

/** The certificate of a running service. */
export interface FollowedTls {
  /** The keys that are in use now. */
  keys(): TlsKeys;
  /** Reads the files now; answers whether they can be used. */
  reload(): Promise<boolean>;
  close(): void;
}

/**
 * The options of a server of node:tls; with an authority, clients must have a certificate from it.
 */
export function secureOptions({ cert, key, ca }: TlsKeys): TlsOptions {
  const own = { cert, key };
  return ca === undefined ? own : { ...own, ca, requestCert: true, rejectUnauthorized: true };
}

/**
 * Reads the files, and follows them.
 *
 * @param apply Applies the new keys.
 * @throws {Error} If they cannot be used; the message says which file, and why.
 */
export async function followTlsKeys(
  files: TlsFiles,
  apply: (keys: TlsKeys) => Promise<unknown>,
  log: Log,
): Promise<FollowedTls> {
  let keys = await readTlsKeys(files);
  let held = JSON.stringify(keys);
  let seen = held;

  async function take(found: TlsKeys | string): Promise<boolean> {
    try {
      if (typeof found === "string") throw new Error(found);
      if (JSON.stringify(found) !== JSON.stringify(keys)) await apply(keys = found);
      log({ event: "tls-loaded", level: "info", ends: endOf(found.cert) });
      return true;
    } catch (error) {
      log({ event: "tls-refused", level: "error", reason: errorText(error) });
      return false;
    }
  }

  /**
   * A change is applied only when the files are quiet, because a certificate and its key are two
   * files.
   */
  async function look(): Promise<void> {
    const found = await readTlsKeys(files).catch(errorText);
    const mark = JSON.stringify(found);
    if (mark === seen && mark !== held) await take(found);
    if (mark === seen) held = mark;
    seen = mark;
  }

  const timer = setInterval(look, files.pollEvery ?? 2_000);
  (timer as { unref?: () => void }).unref?.();
  return {
    keys: () => keys,
    reload: async () => await take(await readTlsKeys(files).catch(errorText)),
    close: () => clearInterval(timer),
  };
}

async function readTlsKeys(files: TlsFiles): Promise<TlsKeys> {
  const [cert, key, ca] = await Promise.all([
    readFile(files.cert, "utf8"),
    readFile(files.key, "utf8"),
    files.ca === undefined ? undefined : readFile(files.ca, "utf8"),
  ]);
  const own = readPart(files.cert, "a certificate", () => new X509Certificate(cert));
  const secret = readPart(
    files.key,
    "a private key that has no password",
    () => createPrivateKey(key),
  );
  if (ca !== undefined) readPart(files.ca!, "certificates", () => new X509Certificate(ca));
  if (!own.checkPrivateKey(secret)) {
    throw new Error(`Cannot serve TLS as ${files.key} must be the key of ${files.cert}`);
  }
  if (Date.parse(own.validTo) < Date.now()) {
    const rule = `${files.cert} must not have expired`;
    throw new Error(`Cannot serve TLS as ${rule}: it was valid until ${endOf(cert)}`);
  }
  const keys = { cert, key, ca };
  // Servers are stricter than readers: for example, they refuse keys that are too small.
  try {
    createSecureContext(secureOptions(keys));
  } catch (cause) {
    throw new Error(`Cannot serve TLS as ${files.cert} must hold a certificate that TLS accepts`, {
      cause,
    });
  }
  return keys;
}

function readPart<Part>(file: string, what: string, read: () => Part): Part {
  try {
    return read();
  } catch (cause) {
    throw new Error(`Cannot serve TLS as ${file} must hold ${what} in PEM`, { cause });
  }
}

function endOf(cert: string): string {
  return new Date(new X509Certificate(cert).validTo).toISOString();
}
