// Package collection keeps an indexed corpus on disk: a folder of segments and
// one manifest that says which of them count.
//
// Words used here:
//
//   - segment: a folder of files that never change once written: passages,
//     words, and for each expert vectors and a graph;
//   - manifest: the file that names the segments and everything about them. It
//     is replaced by one rename, which is the moment when a change is there;
//   - generation: the number of a manifest, one more with each;
//   - expert: here, the encoder of passages that made some vectors. It is known
//     by its fingerprint;
//   - to pin: to hold a generation, so that its files stay open until it is
//     released.
//
// # On disk
//
//	MANIFEST        a line with a checksum, then JSON
//	LOCK            flock: one process writes
//	seg-000001/     passages, words, NAME-GENERATION.vectors, NAME-GENERATION.hnsw …
//	tmp-…           what a writer is making; the next writer removes it
//
// A file under a name never has other content later: names of segments and of
// experts' files carry a number that only grows. So a reader may keep a file
// open for as long as it likes, and files that are shared by generations are
// opened once.
//
// # Crashes
//
// Everything that a manifest names is written, synced, and its folder synced,
// before the manifest is renamed into place, and that folder is synced after.
// So a kill or a power cut at any instant leaves the last published generation
// whole, and beside it at most files that no manifest names, which the next
// writer removes.
package collection
