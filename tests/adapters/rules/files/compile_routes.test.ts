import assert from "node:assert/strict";
import { test } from "node:test";

import {
  compileRoutes,
  type HttpCall,
  type RouteOptions,
} from "../../../../adapters/rules/files/compile_routes.ts";

/** The descriptors that a route makes of a request. */
function askedBy(route: RouteOptions, call: Partial<HttpCall>) {
  const { routes, faults } = compileRoutes([route]);
  assert.deepEqual(faults, []);
  const request = { method: "GET", path: "/a", address: "192.0.2.7", header: () => null, ...call };
  return routes(request)!.map(({ entries }) => entries);
}

test("HEAD counts as GET, unless the route names it", () => {
  const descriptors = [{ method: "{method}" }];
  const asked = (methods: readonly string[]) =>
    askedBy({ methods, descriptors }, { method: "HEAD" }).flat();
  assert.deepEqual(asked(["GET"]), [["method", "GET"]]);
  assert.deepEqual(asked(["GET", "HEAD"]), [["method", "HEAD"]]);
  assert.deepEqual(asked(["HEAD"]), [["method", "HEAD"]]);
});

test("a descriptor of a header that is empty is left out", () => {
  const route: RouteOptions = {
    descriptors: [{ tenant: "{header.x-tenant}" }, { path: "{path}" }],
  };
  for (const [value, count] of [["", 1], [null, 1], ["t", 2]] as const) {
    assert.equal(askedBy(route, { header: () => value }).length, count);
  }
});
