import { errorMessage } from "../../../core/options/checks.ts";

/**
 * In which header fields a response states the limit:
 *
 * | form | fields |
 * |---|---|
 * | `"draft-11"` | `RateLimit-Policy: "api";q=100;w=60` and `RateLimit: "api";r=50;t=30` |
 * | `"draft-7"` | `RateLimit-Policy: 100;w=60` and `RateLimit: limit=100, remaining=50, reset=30` |
 * | `"draft-6"` | `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset` (in seconds) |
 * | `"legacy"` | `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` (Unix time) |
 */
export type HeaderForm = "draft-11" | "draft-7" | "draft-6" | "legacy";

const FORMS: readonly HeaderForm[] = ["draft-11", "draft-7", "draft-6", "legacy"];

/**
 * Reads the option `headers`.
 *
 * @throws {TypeError} If a form is unknown, or two of them write the same field.
 */
export function readHeaderForms(
  action: string,
  headers: HeaderForm | readonly HeaderForm[] | false,
): readonly HeaderForm[] {
  const forms = headers === false ? [] : typeof headers === "string" ? [headers] : headers;
  const unknown = Array.isArray(forms) ? forms.findIndex((form) => !FORMS.includes(form)) : 0;
  if (unknown !== -1) {
    const names = FORMS.map((form) => `"${form}"`).join(", ");
    const given = Array.isArray(forms) ? forms[unknown] : headers;
    throw new TypeError(
      errorMessage(action, `headers must be one or more of ${names}, or false`, given),
    );
  }
  if (forms.includes("draft-11") && forms.includes("draft-7")) {
    const rule = 'headers must not be both "draft-11" and "draft-7", which write one field';
    throw new TypeError(errorMessage(action, rule, headers));
  }
  return FORMS.filter((form) => forms.includes(form));
}
