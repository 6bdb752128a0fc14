// Package store has the words that every place for passages shares, a folder of segments
// (store/folder) or an index of a cluster (store/opensearch): what is written and what became
// of it, encoders of passages, how something is built and what that made. It knows neither
// of the two.
package store
