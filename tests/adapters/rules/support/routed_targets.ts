import fc from "fast-check";

/**
 * Pieces that servers treat differently, beside text that matches the routes and text that does not.
 */
const PIECES = [
  ..."/ / / / login search users files a ann b.c . .. /../ %2e %2E %2e%2e %2f %2F".split(" "),
  ..."\\ %5c %5C ; ;x ;v=1 %3b %3B %20 %09 # %23 ? ?a=/b %3f %25 %252f %252e %61 %6C".split(" "),
  ..."%4C %c3%a4 %ff %C0%AF %e2%84%aa \xe4 \xc3\xa4 + : @ // /./ ~ & = * $ ! ' ( | ^ [".split(" "),
  ..."LOGIN Search %zz %".split(" "),
];

/** Targets that routers hand to the routes below, in the ways that servers differ in. */
const HITS = [
  ..."/login /search/a /search/ann /users/ann /users/b /shops//all /files/a/b".split(" "),
  ..."/files/ann /shops/ann/all".split(" "),
];

const piece = fc.constantFrom(...PIECES);
const pieces = (maxLength: number) => fc.array(piece, { maxLength }).map((all) => all.join(""));

/** A target for a route, with pieces put in somewhere, and something before and after it. */
const changed = fc.tuple(
  fc.oneof({ weight: 2, arbitrary: fc.constant("") }, pieces(4).map((text) => `/${text}`)),
  fc.constantFrom(...HITS),
  fc.array(fc.tuple(fc.nat(12), pieces(2)), { maxLength: 2 }),
  fc.oneof({ weight: 2, arbitrary: fc.constant("") }, pieces(5)),
).map(([before, hit, inner, after]) => {
  let text = hit;
  for (const [at, more] of inner) text = text.slice(0, at) + more + text.slice(at);
  return before + text + after;
});

/** Detours that end where they began: `/x/..`, and forms that some server reads in the same way. */
const detour = fc.tuple(
  fc.constantFrom("/x", "/%78", "/x;y", "/x%2fy", "/x\\y", "/x%5cy", "//x", "/"),
  fc.constantFrom("/", "\\", "%2f", "%5c", "//", "/;/"),
  fc.constantFrom("..", "%2e%2e", ".%2E", "..;a", "..%3ba", "%20..", "..%20"),
).map((parts) => parts.join(""));
const roundabout = fc.tuple(
  fc.array(detour, { maxLength: 2 }).map((all) => all.join("")),
  fc.constantFrom(...HITS),
  fc.constantFrom("", "", ..."; ;x/y %3bx /;/.. #/x %23 /%2e %2f..%2fb \\..\\b".split(" ")),
).map((parts) => parts.join(""));

/** Targets of requests that may reach the routes of `ROUTES`, as bytes in Latin-1. */
export const targets: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: changed },
  { weight: 3, arbitrary: roundabout },
  { weight: 1, arbitrary: pieces(10).map((text) => `/${text}`) },
).map((text) => text.startsWith("/") ? text : `/${text}`);
