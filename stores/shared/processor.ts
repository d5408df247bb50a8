/** The runtime's description of the processor it runs on. */
interface Runtime {
  readonly process?: { readonly arch?: string };
  readonly Deno?: { readonly build: { readonly arch: string } };
}

/**
 * Whether the processor lets no load pass an earlier load, and no store an earlier load or store,
 * as on x86. Then a plain access is enough in two places of a call where other processors need an
 * atomic one, and an atomic read in a third where they need a swap. An emulator that reports x86
 * must keep that order too, because every program of several threads needs it. docs/internals/threads.md lists
 * what the store relies on in engines.
 */
export function keepsOrder({ process, Deno }: Runtime = globalThis as Runtime): boolean {
  return ["x64", "x86_64", "ia32"].includes(Deno?.build.arch ?? process?.arch ?? "");
}
