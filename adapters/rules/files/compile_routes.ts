/*
 * Routes turn HTTP requests into descriptors, so that the rules, and not the proxies, choose the
 * limits of a request.
 */

import { addressKey, type RuleCall } from "../../http/http.ts";
import type { Descriptor, DescriptorEntry, RuleFault } from "../../../core/rules/rules.ts";
import { type PathPattern, pathPattern } from "./path_pattern.ts";
import { pathReadings } from "./path_readings.ts";

/** A route as it is written: the HTTP requests that it matches, and their descriptors. */
export interface RouteOptions {
  /** A URL pattern for the path, `/v1/users/:id`; without one any path. */
  readonly path?: string | undefined;
  /** Whether the path matches in any case, and parts of it become lower case; default no. */
  readonly ignoreCase?: boolean | undefined;
  /** The HTTP methods, in capitals; without them any method. `HEAD` counts as `GET`, unless named. */
  readonly methods?: readonly string[] | undefined;
  /** Units that a request takes; default 1. */
  readonly cost?: number | undefined;
  /**
   * The descriptors to ask for, as maps of key to value. In a value `{address}`, `{method}`,
   * `{path}`, `{path.name}` (a part of the pattern) and `{header.name}` stand for the request's
   * own; a descriptor that asks for a value which the request lacks is left out.
   */
  readonly descriptors: readonly Readonly<Record<string, string>>[];
}

/** The facts about an HTTP request: the same that the gate of HTTP adapters gives. */
export type HttpCall = RuleCall;

/**
 * From HTTP requests to descriptors; `undefined` for a path that can be read in so many ways that
 * it must be an attempt to evade limits: refuse it.
 */
export type Routes = (call: HttpCall) => readonly Descriptor[] | undefined;

/** Parts of the path that a route's pattern names. */
type Groups = Readonly<Record<string, string | undefined>>;

/** Reads one piece of a value from a request; `undefined`, `null` or empty if it is absent. */
type Piece = (call: HttpCall, groups: Groups) => string | null | undefined;

/**
 * The descriptors of a request by one route; none if the route is not for it.
 *
 * @param paths The readings of the request's path.
 */
type Route = (call: HttpCall, paths: readonly string[]) => readonly Descriptor[];

const SOURCES_REGEXP =
  /^(address|method|path|path\.[A-Za-z_0-9]+|header\.[a-z0-9!#$%&'*+.^_`|~-]+)$/;

/**
 * Compiles routes, and reports everything that is wrong with them.
 *
 * @param ipv6Prefix Bits of an IPv6 address that count; by default the call says how many.
 */
export function compileRoutes(
  options: readonly RouteOptions[],
  ipv6Prefix?: number,
): { readonly routes: Routes; readonly faults: readonly RuleFault[] } {
  const faults: RuleFault[] = [];
  const compiled = options.map((option, index) => compileRoute(option, ["routes", index], faults));
  const routes: Routes = (call) => {
    const paths = call.paths === undefined || call.paths.length === 0
      ? pathReadings(call.path)
      : readingsOfAll([call.path, ...call.paths]);
    if (paths === undefined) return undefined;
    // A header function may be a method of a class, which a copy would not have.
    const named = { ...call, header: call.header, address: networkOf(call, ipv6Prefix) };
    return compiled.flatMap((route) => route(named, paths));
  };
  return { routes, faults };
}

function compileRoute(
  { path, ignoreCase = false, methods, cost = 1, descriptors }: RouteOptions,
  place: RuleFault["path"],
  faults: RuleFault[],
): Route {
  const pattern = path === undefined
    ? undefined
    : patternOf(path, ignoreCase, [...place, "path"], faults);
  const inAnyCase = path === undefined || pattern === undefined
    ? undefined
    : patternOf(path, true, [...place, "path"], faults);
  const literal = path !== undefined && LITERAL_REGEXP.test(path) ? path : undefined;
  const templates = descriptors.map((descriptor, index) =>
    Object.entries(descriptor).map(([key, value]): TemplateEntry => {
      const here = [...place, "descriptors", index, key];
      if (/^\d+$/.test(key)) {
        faults.push({
          path: here,
          message: "a key must not consist of digits alone, because JavaScript would reorder it",
        });
      }
      return [key, piecesOf(value, here, faults)];
    })
  );
  return (asked, paths) => {
    const method = asked.method === "HEAD" && !methods?.includes("HEAD") ? "GET" : asked.method;
    if (methods !== undefined && !methods.includes(method)) return [];
    const isLoose = asked.ignoresCase === true && !ignoreCase;
    const matches = isLoose ? inAnyCase : pattern;
    const matched = paths.flatMap((each): readonly Match[] => {
      const whole = ignoreCase ? each.toLowerCase() : each;
      const groups = matches === undefined ? {} : matches(whole);
      if (groups === undefined) return [];
      const spellings = isLoose ? casesOf(whole, literal) : [whole];
      return spellings.map((path) => [{ ...asked, method, path: withoutEnd(path) }, groups]);
    });
    return templates.flatMap((template) => filled(template, matched, cost));
  };
}

/** A pattern that matches one path alone. */
const LITERAL_REGEXP = /^[\w/.~!$&',;=@-]*$/;

/**
 * The readings of a path where the server ignores case: as it came, and in the one spelling that all
 * others share, which is that of the rules if they have one.
 */
function casesOf(path: string, literal: string | undefined): readonly string[] {
  return [...new Set([path, literal ?? path.toLowerCase()])];
}

/** The readings of several targets; `undefined` if one of them has too many. */
function readingsOfAll(targets: readonly string[]): readonly string[] | undefined {
  const all = targets.map(pathReadings);
  const known = all.filter((readings) => readings !== undefined);
  return known.length < all.length ? undefined : [...new Set(known.flat())];
}

/** The key of an entry, and what its value is made of. */
type TemplateEntry = readonly [key: string, pieces: readonly Piece[]];

/** A request, with one reading of its path that a route matches. */
type Match = readonly [call: HttpCall, groups: Groups];

/** The descriptors that a template makes of a request: one, or one for each reading that differs. */
function filled(
  template: readonly TemplateEntry[],
  matched: readonly Match[],
  cost: number,
): readonly Descriptor[] {
  if (matched.length === 1) {
    const entries = entriesOf(template, ...matched[0]!);
    return entries === undefined ? [] : [{ entries, cost }];
  }
  const different = new Map<string, readonly DescriptorEntry[]>();
  for (const match of matched) {
    const entries = entriesOf(template, ...match);
    if (entries !== undefined) different.set(JSON.stringify(entries), entries);
  }
  return [...different.values()].map((entries) => ({ entries, cost, readingOf: template }));
}

/** The entries that a template makes of a request; `undefined` if the request lacks a value. */
function entriesOf(
  template: readonly TemplateEntry[],
  call: HttpCall,
  groups: Groups,
): readonly DescriptorEntry[] | undefined {
  const entries: DescriptorEntry[] = [];
  for (const [key, pieces] of template) {
    let text = "";
    for (const piece of pieces) {
      const value = piece(call, groups);
      if (value === undefined || value === null || value === "") return undefined;
      text += value;
    }
    entries.push([key, text]);
  }
  return entries;
}

/** A slash before another one, or at the end: a segment of no text. */
const EMPTY_SEGMENT_REGEXP = /\/(?:\/|$)/;

/** The pattern of a route, as servers take it: of a path with a slash at its end, and without. */
function patternOf(
  text: string,
  ignoreCase: boolean,
  place: RuleFault["path"],
  faults: RuleFault[],
): PathPattern | undefined {
  try {
    const strict = pathPattern(text, { ignoreCase });
    const lenient = pathPattern(text, { ignoreCase, emptyNames: true });
    return (path) => {
      const bare = withoutEnd(path);
      const groups = strict(bare) ?? strict(`${bare}/`);
      return groups ?? (EMPTY_SEGMENT_REGEXP.test(path) ? lenient(path) : undefined);
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    faults.push({
      path: place,
      message: `expected a URL pattern such as /v1/users/:id: ${reason}`,
    });
    return undefined;
  }
}

/** A path without slashes at its end. */
function withoutEnd(path: string): string {
  return path.endsWith("/") ? path.replace(/\/+$/, "") || "/" : path;
}

/** The pieces of a value: fixed text, and placeholders in braces. */
function piecesOf(value: string, path: RuleFault["path"], faults: RuleFault[]): readonly Piece[] {
  return value.split(/(\{[^{}]*\})/).filter((text) => text !== "").map((text): Piece => {
    if (!text.startsWith("{")) return () => text;
    const source = text.slice(1, -1);
    if (!SOURCES_REGEXP.test(source)) {
      const known = "{address}, {method}, {path}, {path.name} or {header.name}";
      faults.push({ path, message: `expected ${known} in braces, not ${text}` });
    }
    const name = source.slice(source.indexOf(".") + 1);
    if (source.startsWith("header.")) return (call) => call.header(name);
    // No part of a path is a slash alone, so a slash can stand for an empty part.
    if (source.startsWith("path.")) {
      return (_call, groups) => groups[name] === "" ? "/" : groups[name];
    }
    return (call) => call[source as "address" | "method" | "path"];
  });
}

/** Anything but an address is left unchanged. */
function networkOf({ address, ipv6Prefix }: HttpCall, own: number | undefined): string | undefined {
  return address === undefined ? undefined : addressKey(address, own ?? ipv6Prefix) ?? address;
}
