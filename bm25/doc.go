// Package bm25 finds passages by their words, as Lucene does: the same English
// analysis, the same formula, the same scores.
//
// Its vocabulary:
//
//   - a word is a piece of text; a term is what a word becomes by analysis
//     (lower case, without stop words, stemmed), and what is indexed;
//   - a phrase is two terms that follow each other in a title or a text, and where
//     phrases are indexed it has postings, as a term has (see Searcher.Phrases);
//   - a posting says that a term occurs in a passage, and how often (tf);
//   - a posting's impact is the pair of tf and the passage's length: with the
//     collection's average length it decides how much of a term's weight the
//     passage gets;
//   - a segment is one Index file: passages numbered from 0, their postings in
//     blocks of 128, each block with the largest impact in it;
//   - a Searcher is a list of segments, each with the passages deleted from it,
//     whose statistics count as one collection;
//   - k1, b, df, idf, tf are the formula's own letters (see Params).
package bm25
