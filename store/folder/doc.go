// Package folder keeps an indexed corpus on disk: a folder of segments and one
// manifest that names the live ones.
//
// Words used here:
//
//   - segment: a folder of files that never change once written: passages,
//     words, and for each expert vectors and a graph;
//   - manifest: the file that names and describes all segments. A change is
//     published by replacing it with one rename;
//   - generation: a state of the collection, as one manifest describes it. Each
//     has the number of the one before, plus one;
//   - expert: here, the encoder of passages that made some vectors. It is known
//     by its fingerprint;
//   - part: of a passage, bytes of its text that have a vector of their own, for an
//     expert that cuts passages (Cut);
//   - owner: of an expert that has no vectors, the one whose vectors it searches.
//     Both have the same encoder of passages;
//   - to pin: to hold a generation, so that its files stay open until it is
//     released;
//   - tombstone: a mark that a passage of a segment is deleted;
//   - selection: the passages of a generation that meet a Condition;
//   - log: the changes that were acknowledged and are not yet in a segment;
//   - flush: to make a segment of the oldest changes of the log;
//   - merge: to make one segment of several, without what is deleted.
//
// There are two ways to change a collection. Build, and the functions of offline.go,
// change one that no server has open. Live searches and changes one at the same time.
// Both use a writer, which makes segments and publishes generations. Open only reads.
//
// # On disk
//
//	MANIFEST        a line with a checksum, then JSON
//	LOCK            flock: one process writes
//	wal/            the log
//	seg-000001/     passages, words, tags, deleted-7, and for each expert
//	                NAME-3.vectors, NAME-3.hnsw …, of an expert of parts
//	                NAME-3.parts too; words-7 after RebuildWords
//	tmp-…           what a writer is making; the next writer removes it
//
// A file under a name never has other content later: names carry a number that
// only grows. So a reader may keep a file open for as long as it likes, and
// files that are shared by generations are opened once.
//
// Each file of a segment ends with a seal: the checksum that the manifest has for it.
// The two are compared when the file is opened, so that a file in the place of another
// is refused (package segmentfile).
//
// # Order
//
// In a segment, passages are numbered in the order of their ids. Ties in a
// score are broken by ordinal in a segment and by id between segments, which is
// then the same: BM25 and exact search answer alike however a corpus is divided.
//
// # Crashes
//
// Everything that a manifest names is written, synced, and its folder synced,
// before the manifest is renamed into place, and that folder is synced after.
// So a kill or a power cut at any instant leaves the last published generation
// whole. It may also leave files that no manifest names; the next writer removes
// these.
//
// If an operation of the file system fails, the writer goes on. It opens a new
// generation before it renames its manifest, so that a missing file or descriptor
// is noticed before anything is published. Publishing has three outcomes:
//
//   - Not published: the files that were made for the generation are removed.
//   - Published: the files that only the generation before has are removed.
//   - Unknown, when the rename or the sync after it failed: nothing is removed or
//     written until the manifest found on disk has been written once more, and so
//     is durable. For the same reason the next writer after a kill syncs the
//     manifest before it removes leftovers.
//
// A change is acknowledged when its record of the log is synced. The manifest has
// the number of the last change that is in the segments; later ones are read from
// the log when the collection is opened for writing. Package wal describes how a
// record that was cut off differs from a damaged one, and what happens after a
// failed sync.
package folder
