// Package conditions says which passages are meant by what their metadata hold: it reads a
// condition, checks its form, finds out what its values are compared with, and evaluates it for
// a passage. Stores evaluate it for many at once: a folder by columns of a segment, a cluster by
// its own queries; both by the Node that Compile returns, so that they agree.
//
// A field is a key of the metadata.
//
// A value is what it looks like, whatever other passages have in the same field: a number is a
// number, true and false are what they are, and a text is a word. A text that is written like a
// date is a date, too, and one that is written like a number or a boolean as well: tables have
// no other values. What a condition names decides what it is compared with: 10 with numbers,
// "2024-05-01" with dates, "red" with words. A type that is declared for a field decides instead.
package conditions
