/*
 * Everything that tidegate uses of Effect and that Effect 3 lacks. With Effect 3 the loader fails
 * before any of our code runs, and its error names the missing module and the file that imports it:
 * this one, whose name says what is needed.
 */

import * as HttpApiError from "effect/http-api/HttpApiError";

import { tooOldError } from "../optional_packages/too_old_error.ts";

if (!("Problem" in HttpApiError)) throw tooOldError("use tidegate/effect", "effect", "4.1");

export { HttpApiError };
export * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware";
export * as HttpEffect from "effect/http/HttpEffect";
export * as HttpServerRequest from "effect/http/HttpServerRequest";
export * as HttpServerResponse from "effect/http/HttpServerResponse";
export {
  layerStoreMemory,
  RateLimiterError,
  RateLimiterStore,
  RateLimitStoreError,
} from "effect/persistence/RateLimiter";
export * as Redis from "effect/persistence/Redis";
export * as Result from "effect/Result";
export * as SchemaGetter from "effect/SchemaGetter";
export * as SchemaIssue from "effect/SchemaIssue";
