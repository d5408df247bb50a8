// Opens a page of a replay in headless Chromium, on a desk and in a hand, and prints what is cut off
// and which options of the command are broken over two lines. Runs on Node, on whichever runtime the
// test is.
import process from "node:process";
import { pathToFileURL } from "node:url";

import { launchChromium } from "../../../support/launch_chromium.mjs";

const [path = ""] = process.argv.slice(2);
const browser = await launchChromium();
try {
  const faults = [];
  for (const width of [1280, 390]) {
    const page = await browser.newPage({ viewport: { width, height: 844 } });
    await page.goto(pathToFileURL(path).href);
    faults.push(...await page.evaluate(faultsOf));
    await page.close();
  }
  console.log(JSON.stringify(faults));
} finally {
  await browser.close();
}

/** Runs in the page. */
function faultsOf() {
  /** @type {(box: Element) => string} */
  const named = (box) => `${innerWidth} ${box.tagName} ${box.textContent?.trim().slice(0, 40)}`;
  const frames = [...document.querySelectorAll("body, main, .wide, th, td")];
  const options = [...document.querySelectorAll("li, p")].flatMap((block) => {
    const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const broken = [];
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      for (const { 0: option, index } of text.textContent?.matchAll(/--[a-z-]+/g) ?? []) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + option.length);
        if (range.getClientRects().length > 1) broken.push(`${innerWidth} ${option} is broken`);
      }
    }
    return broken;
  });
  return [
    ...frames.filter((box) => box.scrollWidth > box.clientWidth + 1).map(named),
    ...options,
  ];
}
