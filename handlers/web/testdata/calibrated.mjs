// A collection that was calibrated: its curves, as the API gives them.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, leave, looks, visit, widths } from "./browser.mjs";
import { api, browser, server } from "./servers.mjs";

const percent = (x) => `${Math.round(100 * x)} %`;
const near = (a, b) => Math.abs(a - b) < 0.1;

test("curves of the answers and of the experts are drawn and said, in every width and theme", async () => {
  const { experts, reliability } = await api("/v1/experts");
  const curves = { Answers: reliability, base: experts.find((expert) => expert.name === "base").reliability };
  for (const [width, theme] of looks(widths)) {
    const page = await visit(browser, `${server}/?view=collection&tune=1`, { width });
    for (const [name, bins] of Object.entries(curves)) {
      const part = page.getByRole("region", { name: `Calibration of ${name}` });
      const image = part.getByRole("img");
      await image.waitFor();
      const label = await image.getAttribute("aria-label");
      for (const bin of bins) assert.ok(label.includes(`at ${percent(bin.confidence)} ${percent(bin.accuracy)} were answered`), label);
      const dots = await image.locator("circle").evaluateAll((all) => all.map((dot) => [dot.cx.baseVal.value, dot.cy.baseVal.value]));
      assert.equal(dots.length, bins.length);
      for (const [i, [x, y]] of dots.entries())
        assert.ok(near(x, 100 * bins[i].confidence) && near(y, 100 - 100 * bins[i].accuracy), `${name}: ${x}, ${y}`);
      await part.locator("summary").focus();
      await page.keyboard.press("Enter");
      const rows = await part.locator("tbody tr").allTextContents();
      assert.deepEqual(rows, bins.map((bin) => percent(bin.confidence) + percent(bin.accuracy) + bin.questions));
    }
    const base = await page.getByRole("region", { name: "Calibration of base" }).textContent();
    assert.ok(base.includes(`recall@100 ${experts[0].recall["recall@100"].toFixed(3)}`), base);
    assert.equal(await page.getByText("Not calibrated").count(), 0);
    await page.emulateMedia({ colorScheme: theme });
    await accessible(page, `curves, ${width} px, ${theme}`);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/calibrated-${width}-${theme}.png`, fullPage: true });
    await leave(page);
  }
});
