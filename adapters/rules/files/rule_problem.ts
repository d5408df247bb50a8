/*
 * Problems of rules, each with its place, as compilers report theirs.
 */

/** Something wrong, or doubtful, in a rule file. */
export interface RuleProblem {
  /** The name of the file, or of another source of the rules. */
  readonly file: string;
  /** The line, counted from 1; `undefined` if the rules came as an object. */
  readonly line: number | undefined;
  /** The column, counted from 1; `undefined` if the rules came as an object. */
  readonly column: number | undefined;
  /** The place in the data: `rules[0].limits[1].period`; empty for the whole file. */
  readonly path: string;
  /** The requirement, and what was found. */
  readonly message: string;
  /** An error keeps the rules from being used; a warning does not. */
  readonly severity: "error" | "warning";
}

/** A problem in one line, as compilers print them: `rules.yaml:3:5: error: ...`. */
export function problemText(problem: RuleProblem): string {
  const { file, line, column, path, severity, message } = problem;
  const place = line === undefined ? file : `${file}:${line}:${column}`;
  return `${place}: ${severity}: ${path === "" ? message : `${path}: ${message}`}`;
}

/** A path into data. */
export type DataPath = readonly (string | number)[];

/** A path as messages show it: `rules[0].limits`. */
export function pathText(path: DataPath): string {
  return path.reduce<string>(
    (text, step) =>
      typeof step === "number" ? `${text}[${step}]` : text === "" ? step : `${text}.${step}`,
    "",
  );
}
