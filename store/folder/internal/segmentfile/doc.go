// Package segmentfile reads and writes what all files of a segment have in common, the seals with checksums, and lists
// of passages, such as the deleted ones. It knows nothing of collections.
package segmentfile
