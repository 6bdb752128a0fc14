// Package demo is the corpus that conclave is shown with: short passages from
// five domains and questions that they answer, all written for this project.
//
// passages holds one file per domain, named after it. questions holds dev.jsonl
// and test.jsonl; the two never ask about the same article, product, story,
// topic or company. It also holds elsewhere.jsonl, questions that no passage answers.
package demo

import (
	"embed"
	"slices"
)

// FS holds the folders passages and questions.
//
//go:embed passages/*.jsonl questions/*.jsonl
var FS embed.FS

// Domains returns the domains, each the name of a file in passages.
func Domains() []string {
	return []string{"encyclopedia", "reviews", "tales", "health", "policy"}
}

// Passages returns those of all domains, as JSON Lines.
func Passages() (all []byte, err error) {
	for _, domain := range Domains() {
		data, err := FS.ReadFile("passages/" + domain + ".jsonl")
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, data)
	}
	return all, nil
}
