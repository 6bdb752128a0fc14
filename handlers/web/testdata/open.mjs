// Every test of the pages of a server that wants no key, in one process and one browser.
// ONLY names some of them.
const all = ["accessible", "ask", "asking", "collection", "compare", "copy", "keyboard", "tryit", "troubles", "judging", "suggesting"];
for (const name of process.env.ONLY?.split(",") ?? all) await import(`./${name}.mjs`);
