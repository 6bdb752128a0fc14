// Package segmentfile has what the files of a segment share and what knows nothing of a collection: seals with
// checksums, and lists of passages, such as the deleted ones.
package segmentfile
