import { picture } from "../adapters/replay/output/plots/svg.ts";

/** A picture of a bench: with lines that differ by their dashes, too. */
export function benchPicture(
  width: number,
  height: number,
  title: string,
  children: readonly string[],
): string {
  return picture(width, height, title, [`<style>${STYLE}</style>`, ...children]);
}

const STYLE = `
.plot{--s0:#0969b8;--s1:#c8500a;--s2:#0b8a63;--s3:#a8478a;--s4:#9a6a00;--s5:#5b5bd6}
@media (prefers-color-scheme:dark){.plot{--s0:#58a6ff;--s1:#ff9a4d;--s2:#3fd0a4;--s3:#ee9bcb;
--s4:#e3b341;--s5:#a5a5ff}}
.plot .strong{font-weight:600}.plot .axis{stroke:var(--soft);fill:none}
.plot .ground{fill:var(--rule)}
.plot .series{fill:none;stroke-width:2;stroke-linejoin:round}
.plot .s0{stroke:var(--s0)}.plot .s1{stroke:var(--s1);stroke-dasharray:7 3}
.plot .s2{stroke:var(--s2);stroke-dasharray:2 3}.plot .s3{stroke:var(--s3);stroke-dasharray:9 3 2 3}
.plot .s4{stroke:var(--s4);stroke-dasharray:4 4}.plot .s5{stroke:var(--s5);stroke-dasharray:12 4}
.plot .limit{stroke:var(--alarm);stroke-width:1.5;stroke-dasharray:3 3;fill:none}
`.replaceAll("\n", "");
