// Package fields finds the passages of a segment by the values of their metadata: for each field
// and each kind of value (conditions.Kind) the distinct values in order, each with its passages.
//
// A Builder takes the metadata of one passage after the other and writes a file, or makes an index
// in memory; an Index, memory-mapped, marks the passages with a value in an interval as bits, in the
// time that it takes to read as many ordinals, and counts the passages of each value.
package fields
