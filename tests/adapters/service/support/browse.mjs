// Uses the page of a service as a person would, in headless Chromium, and prints what was seen.
// Runs on Node, whichever runtime the service is on.
import { join } from "node:path";
import process from "node:process";

import { launchChromium } from "../../../support/launch_chromium.mjs";

const [url = "", token = ""] = process.argv.slice(2);
const screenshots = process.env["TIDEGATE_SCREENSHOTS"];
const browser = await launchChromium();
try {
  const seen = await visit("light");
  console.log(JSON.stringify({ ...seen, dark: await backgroundIn("dark") }));
} finally {
  await browser.close();
}

/** @param {"light" | "dark"} colorScheme */
async function backgroundIn(colorScheme) {
  const context = await browser.newContext({ colorScheme });
  const page = await context.newPage();
  await page.goto(url);
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (screenshots !== undefined) {
    await page.waitForSelector("#rules tr");
    await page.screenshot({ path: join(screenshots, "page-dark.png"), fullPage: true });
  }
  await context.close();
  return background;
}

/** @param {"light"} colorScheme */
async function visit(colorScheme) {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1000, height: 860 } });
  const page = await context.newPage();
  /** @type {string[]} */
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(url);
  await page.waitForSelector("#rules tr");
  await page.waitForFunction(() =>
    document.querySelector("#status")?.textContent?.includes("Live")
  );

  // By keyboard alone: along the fields, and Enter to look.
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement?.textContent);
  await page.fill("#token", token);
  await page.focus("#entries");
  await page.keyboard.type("user=mallory");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#answer strong");
  const looked = await page.innerText("#answer");

  await page.fill("#entries", "user=zoe");
  await page.click("button[value=consume]");
  await page.waitForFunction(() =>
    document.querySelector("#answer")?.textContent?.startsWith("It was")
  );
  const taken = await page.innerText("#answer");
  const blocks = [];
  await page.fill("#entries", "card=4711");
  for (const way of ["block", "peek", "unblock"]) {
    const before = await page.innerText("#answer");
    await page.click(`button[value=${way}]`);
    await page.waitForFunction(
      (before) =>
        /** @type {HTMLElement} */ (document.querySelector("#answer")).innerText !== before,
      before,
    );
    blocks.push(await page.innerText("#answer"));
  }
  await page.fill("#entries", "user");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#answer > strong.refused");
  const malformed = await page.innerText("#answer");

  // The keys are shown with the token, at the next look.
  await page.waitForSelector("#keys tr");
  const keys = await page.innerText("#keys");
  await page.waitForFunction(() => document.querySelector("#rules path.admitted[d^=M]") !== null);
  const rules = await page.innerText("#rules");
  await page.click("#keys button:has-text('mallory')");
  const filled = await page.inputValue("#entries");
  await page.focus("#decisions svg");
  await page.keyboard.press("ArrowLeft");
  const minute = await page.innerText("#decisions .readout");
  await page.fill("#search", "HOSTILE");
  await page.waitForFunction(() => document.querySelectorAll("#keys tr").length === 1);
  const hostile = await page.innerText("#keys");
  await page.fill("#search", "");
  await page.waitForFunction(() => document.querySelectorAll("#keys tr").length > 1);
  if (screenshots !== undefined) {
    await page.fill("#entries", "user=42");
    await page.click("button[value=peek]");
    await page.waitForTimeout(3_000);
    await page.screenshot({ path: join(screenshots, `page-${colorScheme}.png`), fullPage: true });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.screenshot({ path: join(screenshots, `narrow-${colorScheme}.png`), fullPage: true });
  }
  await page.setViewportSize({ width: 390, height: 844 });
  const cutOff = await page.evaluate(() =>
    [...document.querySelectorAll("dl, section, table, body")]
      .filter((box) =>
        box.scrollWidth > box.clientWidth + 1 || box.getBoundingClientRect().right > 391
      )
      .map(({ tagName, id }) => `${tagName} ${id}`)
  );
  const fill = await page.innerText("#fill");
  const shadowed = await page.evaluate(() =>
    [...document.querySelectorAll("#keys tr")]
      .filter((row) => row.textContent?.startsWith("plan="))
      .map((row) => row.querySelector("td.shadow") === null ? "refused" : "shadow")
  );
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const unlabelled = await page.evaluate(() =>
    [...document.querySelectorAll("input, select")]
      .filter((field) => !(/** @type {HTMLInputElement} */ (field).labels?.length)).length
  );
  await context.close();
  return {
    errors,
    first,
    looked,
    taken,
    blocks,
    malformed,
    keys,
    filled,
    minute,
    hostile,
    rules,
    background,
    unlabelled,
    cutOff,
    fill,
    shadowed,
  };
}
