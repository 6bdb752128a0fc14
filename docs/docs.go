// Package docs holds the guide: pages in Markdown, which a code host shows as they
// are and a server shows at /guide/ (package web). README.md lists the pages in the
// order in which they are read, ARCHITECTURE.md among them; evidence holds those of figures.
package docs

import "embed"

// Files are the pages and their pictures.
//
//go:embed *.md *.svg evidence/*.md evidence/*.svg evidence/benchmarks/*.svg
var Files embed.FS
