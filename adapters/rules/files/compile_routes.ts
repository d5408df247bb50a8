/*
 * Routes: from HTTP requests to descriptors, so that proxies can leave it to the rules which limits a
 * request is for.
 */

import { addressKey } from "../../http/http.ts";
import type { Descriptor } from "../../../core/rules/rules.ts";
import { type PathPattern, pathPattern } from "./path_pattern.ts";

/** A route as it is written: which HTTP requests it is for, and what they ask for. */
export interface RouteOptions {
  /** A URL pattern for the path, `/v1/users/:id`; without one any path. */
  readonly path?: string | undefined;
  /** Whether the path is in any case, and what is taken of it in lower case; default no. */
  readonly ignoreCase?: boolean | undefined;
  /** The HTTP methods, in capitals; without them any method. `HEAD` counts as `GET`, unless named. */
  readonly methods?: readonly string[] | undefined;
  /** Units that a request takes; default 1. */
  readonly cost?: number | undefined;
  /**
   * What to ask for, as maps of key to value. In a value `{address}`, `{method}`, `{path}`,
   * `{path.name}` (a part of the pattern) and `{header.name}` stand for the request's own; a
   * descriptor that asks for what the request has not is left out.
   */
  readonly descriptors: readonly Readonly<Record<string, string>>[];
}

/** What is known of an HTTP request. */
export interface HttpCall {
  /** The method, in capitals. */
  readonly method: string;
  /** The path, without a query. */
  readonly path: string;
  /** The client's address; of an IPv6 one its network counts. `undefined` if it is not known. */
  readonly address: string | undefined;
  /** How many bits that network has where the rules do not say so; default 64. */
  readonly ipv6Prefix?: number | undefined;
  /** A header's value, by its name in lower case; `undefined` or `null` if it is absent. */
  header(name: string): string | null | undefined;
}

/** What is wrong with a route. */
export interface RouteFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** From HTTP requests to descriptors. */
export type Routes = (call: HttpCall) => readonly Descriptor[];

interface Route {
  readonly pattern: PathPattern | undefined;
  readonly ignoreCase: boolean;
  readonly methods: ReadonlySet<string> | undefined;
  readonly cost: number;
  readonly descriptors: readonly (readonly (readonly [key: string, value: readonly Piece[]])[])[];
}

/** Fixed text, or what stands in braces. */
type Piece = string | { readonly source: string; readonly name: string };

const SOURCES_REGEXP =
  /^(address|method|path|path\.[A-Za-z_0-9]+|header\.[a-z0-9!#$%&'*+.^_`|~-]+)$/;

/**
 * Compiles routes, and says everything that is wrong with them.
 *
 * @param ipv6Prefix Bits of an IPv6 address that count; by default the call says how many.
 */
export function compileRoutes(
  options: readonly RouteOptions[],
  ipv6Prefix?: number,
): { readonly routes: Routes; readonly faults: readonly RouteFault[] } {
  const faults: RouteFault[] = [];
  const compiled = options.map((option, place) => compileRoute(option, ["routes", place]));
  const routes: Routes = (call) => {
    const named = { ...call, header: call.header, address: networkOf(call, ipv6Prefix) };
    return compiled.flatMap((route) => descriptorsOf(route, named));
  };
  return { routes, faults };

  function compileRoute(
    { path, ignoreCase = false, methods, cost = 1, descriptors }: RouteOptions,
    place: RouteFault["path"],
  ): Route {
    return {
      pattern: path === undefined ? undefined : patternOf(path, ignoreCase, [...place, "path"]),
      ignoreCase,
      methods: methods === undefined ? undefined : new Set(methods),
      cost,
      descriptors: descriptors.map((descriptor, index) =>
        Object.entries(descriptor).map(([key, value]) => {
          const here = [...place, "descriptors", index, key];
          if (/^\d+$/.test(key)) {
            faults.push({ path: here, message: "a key of digits alone would lose its place" });
          }
          return [key, piecesOf(value, here)] as const;
        })
      ),
    };
  }

  function patternOf(
    text: string,
    ignoreCase: boolean,
    path: RouteFault["path"],
  ): PathPattern | undefined {
    try {
      return pathPattern(text, ignoreCase);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      faults.push({ path, message: `expected a URL pattern such as /v1/users/:id: ${reason}` });
      return undefined;
    }
  }

  function piecesOf(value: string, path: RouteFault["path"]): Piece[] {
    return value.split(/(\{[^{}]*\})/).filter((piece) => piece !== "").map((piece) => {
      if (!piece.startsWith("{")) return piece;
      const inner = piece.slice(1, -1);
      if (!SOURCES_REGEXP.test(inner)) {
        const known = "{address}, {method}, {path}, {path.name} or {header.name}";
        faults.push({ path, message: `expected ${known} in braces, not ${piece}` });
      }
      const dot = inner.indexOf(".");
      return dot === -1
        ? { source: inner, name: "" }
        : { source: inner.slice(0, dot), name: inner.slice(dot + 1) };
    });
  }
}

/** Anything but an address is left as it is. */
function networkOf({ address, ipv6Prefix }: HttpCall, own: number | undefined): string | undefined {
  return address === undefined ? undefined : addressKey(address, own ?? ipv6Prefix) ?? address;
}

function descriptorsOf(route: Route, asked: HttpCall): Descriptor[] {
  const { methods, pattern, ignoreCase } = route;
  const isHead = asked.method === "HEAD" && !methods?.has("HEAD");
  const method = isHead ? "GET" : asked.method;
  if (methods !== undefined && !methods.has(method)) return [];
  const path = ignoreCase ? asked.path.toLowerCase() : asked.path;
  const call = { ...asked, header: asked.header, method, path };
  // Servers serve a path with a slash at its end, and without, as one.
  const groups = pattern === undefined ? {} : pattern(path) ?? pattern(`${path}/`);
  if (groups === undefined) return [];
  return route.descriptors.flatMap((descriptor): Descriptor[] => {
    const entries: [string, string][] = [];
    for (const [key, pieces] of descriptor) {
      const value = filled(pieces, call, groups);
      if (value === undefined) return [];
      entries.push([key, value]);
    }
    return [{ entries, cost: route.cost }];
  });
}

function filled(
  pieces: readonly Piece[],
  call: HttpCall,
  groups: Readonly<Record<string, string | undefined>>,
): string | undefined {
  let text = "";
  for (const piece of pieces) {
    const value = typeof piece === "string" ? piece : valueOf(piece, call, groups);
    if (value === undefined || value === null || value === "") return undefined;
    text += value;
  }
  return text;
}

function valueOf(
  { source, name }: Exclude<Piece, string>,
  call: HttpCall,
  groups: Readonly<Record<string, string | undefined>>,
): string | null | undefined {
  switch (source) {
    case "address":
      return call.address;
    case "method":
      return call.method;
    case "header":
      return call.header(name);
    default:
      return name === "" ? call.path : groups[name];
  }
}
