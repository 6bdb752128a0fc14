// Package web holds the pages that the server shows to people. They use the
// public API and nothing else, load nothing from elsewhere, and have no step of
// building: the files are what the browser gets.
package web

import (
	"embed"
	"io/fs"
)

//go:embed files
var embedded embed.FS

// Files returns the embedded files: index.html with app/ for the page where people ask, docs.html, docs.css, docs.js
// and icon.svg for the API reference, and the frame of the guide.
func Files() fs.FS {
	files, err := fs.Sub(embedded, "files")
	if err != nil {
		return embedded // fs.Sub refuses malformed paths alone
	}
	return files
}
