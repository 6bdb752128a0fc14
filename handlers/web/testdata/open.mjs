// Every test of the pages of a server that wants no key, in one process and one browser.
for (const name of ["accessible", "ask", "asking", "collection", "compare", "copy", "keyboard", "tryit", "troubles", "judging"]) await import(`./${name}.mjs`);
