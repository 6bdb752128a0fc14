// Package folder keeps an indexed corpus on disk: a folder of segments and one
// manifest that names the live ones.
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
//   - part: of a passage, bytes of its text that have a vector of their own, for an
//     expert that cuts passages (Cut);
//   - owner: of an expert that has no vectors, the one whose vectors it searches.
//     Both have the same encoder of passages;
//   - to pin: to hold a generation, so that its files stay open until it is
//     released;
//   - tombstone: a mark that a passage of a segment is deleted;
//   - selection: the passages of a generation that a filter by tags lets
//     through;
//   - log: what was acknowledged and is not yet in a segment;
//   - flush: to make a segment of the oldest changes of the log;
//   - merge: to make one segment of several, without what is deleted.
//
// A collection has two faces. Build, and the functions of offline.go, change one
// that nobody serves. Live searches and changes one at the same time. Both are a
// writer, which makes segments and publishes generations. Open only reads.
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
// Each file of a segment ends with a seal, its checksum as the manifest names it,
// which is compared when the file is opened: one in the place of another is
// refused (package segmentfile).
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
// whole, and beside it at most files that no manifest names, which the next
// writer removes.
//
// An operation of the file system that fails is no crash: the writer goes on.
// A new generation is opened before its manifest is renamed, so that whatever
// is missing then, a file or a descriptor, is missed before anything is
// published. Publishing has three outcomes. Not published: what was made for it
// is removed. Published: what only the generation before named is removed.
// Unknown, when the rename or the sync behind it failed: nothing is removed and
// nothing is written until the manifest that is found on disk was written once
// more, and so is durable. The next writer after a kill syncs the manifest
// before it clears up, for the same reason.
//
// A change is acknowledged when its record of the log is synced;
// the manifest says up to which change the segments go, and the rest is read
// from the log when the collection is opened for writing. How a record that was
// cut off is told from one that is damaged, and what follows a sync that fails,
// stands at Folder and SectorBytes.
package folder
