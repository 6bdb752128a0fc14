// A real browser for the tests of the pages: Chromium's headless shell, unpacked once
// beside the packages that realclients installed.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(import.meta.url);
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

// unpack has the package write the browser, its libraries and fonts into a folder of
// their own: it puts all of it where temporary files go, and the libraries only for a
// machine that says it has none.
async function unpack() {
  const folder = join(process.env.NODE_PATH, "..", "chromium");
  if (!existsSync(folder)) {
    const part = `${folder}.${process.pid}`;
    mkdirSync(part, { recursive: true });
    Object.assign(process.env, { TMPDIR: part, AWS_LAMBDA_JS_RUNTIME: "nodejs24.x" });
    await require("@sparticuz/chromium").default.executablePath();
    delete process.env.AWS_LAMBDA_JS_RUNTIME;
    delete process.env.TMPDIR;
    try {
      renameSync(part, folder);
    } catch (error) {
      rmSync(part, { recursive: true });
      if (!existsSync(folder)) throw error; // otherwise another test was first
    }
  }
  // The package's own file looks for fonts where it would have put them, and a browser that
  // finds none ends itself when a letter is in no font.
  const fonts = `<fontconfig><dir>${join(folder, "fonts", "fonts")}</dir><cachedir>${join(folder, "fonts", "cache")}</cachedir></fontconfig>\n`;
  writeFileSync(join(folder, "fonts", "fonts.conf"), fonts);
  return folder;
}

export async function launch() {
  const folder = await unpack();
  return chromium.launch({
    executablePath: join(folder, "chromium"),
    env: { ...process.env, LD_LIBRARY_PATH: join(folder, "al2023", "lib"), FONTCONFIG_PATH: join(folder, "fonts") },
  });
}

export const widths = [360, 768, 1440];
export const themes = ["light", "dark"];

// looks pairs each of these widths with a theme, in turns: layout is the width's, and the colours are the theme's, in
// every width the same.
export const looks = (widths) => widths.map((width, i) => [width, themes[i % 2]]);

// visit opens a page in a context of its own. What the browser's console says, what a
// script throws, and what is loaded from another host are kept in page.complaints.
export async function visit(browser, url, { width = 1440, theme = "light", expected = /^$/, locale = "en-US" } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    locale,
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !expected.test(message.text()))
      page.complaints.push(message.text());
  });
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin)) page.complaints.push(`asked ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

// leave ends a visit, in which nothing may have gone wrong.
export async function leave(page) {
  assert.deepEqual(page.complaints, [], `on ${page.url()}`);
  await page.unrouteAll({ behavior: "ignoreErrors" }); // a request may be on its way
  await page.context().close();
}

// accessible asserts that axe finds nothing and that nothing sticks out on the right.
export async function accessible(page, what) {
  if (!(await page.evaluate(() => "axe" in window))) {
    // The page's own policy would forbid a script tag; what the debugger runs it does not bind.
    await page.evaluate(require("node:fs").readFileSync(axe, "utf8"));
  }
  const violations = await page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ["violations"] })).violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`,
    ),
  );
  assert.deepEqual(violations, [], what);
  await fits(page, what);
}

// fits asserts that nothing sticks out on the right.
export async function fits(page, what) {
  const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(inner <= outer, `${what}: the page is ${inner} wide in a window of ${outer}`);
}
