// Package demo is the corpus that conclave is shown with: documents of five domains
// and questions that they answer, all written for this project.
//
// passages holds one file per domain, named after it, and documents the same texts as
// people have them, in Markdown, HTML, PDF and DOCX. questions holds dev.jsonl
// and test.jsonl; the two never ask about the same article, product, story,
// topic or company. It also holds elsewhere.jsonl, questions that nothing here answers.
// questions/documents has the same questions with the places of their answers in the
// documents.
package demo

import "embed"

// FS holds the folders passages, documents and questions.
//
//go:embed passages/*.jsonl questions/*.jsonl documents
var FS embed.FS

// Domains returns the names of the demo's domains in a fixed order. Each has a file passages/NAME.jsonl in FS.
func Domains() []string {
	return []string{"encyclopedia", "reviews", "tales", "health", "policy"}
}
