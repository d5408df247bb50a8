// The globals of Node and Bun, for tests, benches and examples; Deno knows its own.
/// <reference types="node" />
/// <reference types="bun-types" />
