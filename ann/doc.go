// Package ann finds, among stored vectors, those with the greatest inner
// product with a query: exactly, or nearly so and much faster.
//
// The nouns. A vector is float32 elements, all of one dimension. Stored ones are
// rounded to half precision: elements are at most 65,504, and lose precision below
// 0.00006. Most encoders make vectors of length 1, and then the inner product is
// the cosine. An ordinal is a vector's place in its file. A graph links each
// vector to near ones in different directions; a search walks it towards the
// query. M is how many links a vector gets when it is added, efConstruction
// how many candidates they are chosen from, efSearch (ef) how many candidates
// a search keeps on its way: more is slower and finds more. Recall@k is the
// share of the k nearest vectors that are among the k found.
//
// For late interaction a passage has a vector of length 1 for each of its tokens,
// and a question one of any length for each of its own. "Vector" then means the flat
// list of these: n·dimension numbers for n tokens. The score is, instead of an inner
// product, the sum over the question's tokens of the greatest inner product with a
// token of the passage. The file holds two bits for each number (kernel.EncodeTokens).
// Scores are computed from these codes, in integers until the last sum, so that every
// processor gives the same bits.
//
// A passage may also have a vector for each of several parts of its text (OpenGrouped,
// CreateParts). The index is then of these vectors, which are called rows, and a third
// file says which rows belong to which passage. Searches return passages, each with the
// greatest inner product of its rows.
//
// There are five kinds of index with one interface (Index): flat compares with every
// vector; hnsw is the project's own graph (package graph); coder is the graph of a
// library; late compares with every list of token vectors; sparse searches lists of
// weights of word pieces by postings (package bm25). Package kernel computes inner
// products, and package mapped reads and writes the files.
//
// An index is files that do not change once written: its vectors, for a graph a
// second one, and for parts a third. They are read in place through memory maps, so opening costs the same
// for any number of vectors, and what the system keeps resident is what searches
// touch. Before the first search of an open index the checksums of its files are
// compared, which reads the whole files once (Index.Verify). So damage after an intact
// header is an error that names the file, and no search gives wrong neighbours. Check
// verifies the invariants as well. (A file that is cut short
// while it is mapped causes a fault where it is read: see disk.Survive.)
package ann
