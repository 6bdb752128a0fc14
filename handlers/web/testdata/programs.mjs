// The programs that the page offers for copying, written to the folder PROGRAMS, where
// the test that runs this lets them run.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const files = { curl: "curl.sh", Python: "program.py", JavaScript: "program.mjs", Go: "program.go" };
export const programs = Object.keys(files);

// copied presses Copy in the dialog and returns what the clipboard has then.
export async function copied(page, name) {
  await page.getByRole("tab", { name, exact: true }).click();
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.getByText("Copied.").waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(text, await page.locator("dialog pre").textContent());
  writeFileSync(join(process.env.PROGRAMS, files[name]), text);
  return text;
}
