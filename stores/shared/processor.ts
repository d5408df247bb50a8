/** What a runtime says of the processor it runs on. */
interface Runtime {
  readonly process?: { readonly arch?: string };
  readonly Deno?: { readonly build: { readonly arch: string } };
}

/**
 * Whether the processor lets no load pass an earlier one, and no store an earlier load or store, as
 * x86 does: then a plain access may stand in three places of a call where others need an atomic one.
 * An emulator that says it is x86 must keep that order as well, as every program of several threads
 * needs it. docs/shared.md says what is relied on of engines.
 */
export function keepsOrder({ process, Deno }: Runtime = globalThis as Runtime): boolean {
  return ["x64", "x86_64", "ia32"].includes(Deno?.build.arch ?? process?.arch ?? "");
}
