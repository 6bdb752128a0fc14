// Package sources asks the sources of a line-up for passages. A Panel holds the sources: experts, BM25 over words and
// over phrases, and late interaction. Panel.Ask puts an Inquiry to all of them under one deadline and returns Findings,
// with one Finding for each source.
package sources
