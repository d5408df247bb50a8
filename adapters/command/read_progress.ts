/*
 * Shows progress while a command reads a long log. It writes to stderr, and only if that is a
 * terminal, so that the output of the command stays clean.
 */

import process from "node:process";

import { counted } from "../replay/output/format_numbers.ts";

/** Shows on a terminal how far a log has been read. */
export interface ReadProgress {
  /** Counts bytes of the files, before any decompression. */
  add(bytes: number): void;
  /** Updates the line if there is a terminal, but not too often. */
  show(read: { readonly lines: number }): void;
  /** Removes the line. */
  end(): void;
}

const SHOWN_EVERY = 200;

/** Starts counting. @param size Bytes to read in all; `NaN` if that is not known. */
export function readProgress(size: number): ReadProgress {
  const terminal = process.stderr;
  const start = performance.now();
  let bytes = 0;
  let shownAt = start;
  let isShown = false;
  return {
    add(more) {
      bytes += more;
    },
    show({ lines }) {
      const now = performance.now();
      if (!terminal.isTTY || now - shownAt < SHOWN_EVERY) return;
      shownAt = now;
      isShown = true;
      terminal.write(`\r${progressText(lines, bytes, size, now - start)}\u001b[K`);
    },
    end() {
      if (isShown) terminal.write("\r\u001b[K");
    },
  };
}

/** `1,200,000 lines, 85.0 MB/s, 12 s left`. */
export function progressText(
  lines: number,
  bytes: number,
  size: number,
  milliseconds: number,
): string {
  const speed = `${(bytes / 1e3 / milliseconds).toFixed(1)} MB/s`;
  const left = Math.ceil((size - bytes) * milliseconds / bytes / 1_000);
  return `${counted(lines, "line", "lines")}, ${speed}${left >= 0 ? `, ${left} s left` : ""}`;
}
