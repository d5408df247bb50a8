/*
 * All code that Effect has since version 4 only. Where it is older, loaders miss a module before any
 * code runs, and name the file that imports it: the name of this one says what is needed.
 */

import * as HttpApiError from "effect/http-api/HttpApiError";

import { tooOldError } from "../too_old_error.ts";

if (!("Problem" in HttpApiError)) throw tooOldError("use tidegate/effect", "effect", "4.1");

export { HttpApiError };
export * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware";
export * as HttpEffect from "effect/http/HttpEffect";
export * as HttpServerRequest from "effect/http/HttpServerRequest";
export * as HttpServerResponse from "effect/http/HttpServerResponse";
export {
  RateLimiterError,
  RateLimiterStore,
  RateLimitStoreError,
} from "effect/persistence/RateLimiter";
export * as Result from "effect/Result";
export * as SchemaGetter from "effect/SchemaGetter";
export * as SchemaIssue from "effect/SchemaIssue";
