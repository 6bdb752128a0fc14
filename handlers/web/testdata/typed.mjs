// Prints what the page reads from each of the texts in CASES, a list in JSON.
import fs from "node:fs";

const source = fs.readFileSync(process.env.TYPED, "utf8");
const { typed } = await import("data:text/javascript," + encodeURIComponent(source));
console.log(JSON.stringify(JSON.parse(fs.readFileSync(process.env.CASES, "utf8")).map(typed)));
