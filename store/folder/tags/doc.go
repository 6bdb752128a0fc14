// Package tags finds the passages of a segment by their tags: for each tag, which
// passages have it.
//
// A Builder takes the tags of one passage after the other and writes a file, or
// makes an index in memory; an Index, memory-mapped, answers Select with bits, one
// for each passage. Tags are compared byte by byte: "Health" is another tag than
// "health".
package tags
