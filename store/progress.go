package store

// Stage is a part of a build.
type Stage string

// The stages, in their order.
const (
	Reading   Stage = "reading"   // passages in; unit bytes of the input
	Words     Stage = "words"     // BM25; unit passages
	Encoding  Stage = "encoding"  // one expert's vectors; unit passages
	Graph     Stage = "graph"     // one expert's index; unit vectors
	Measuring Stage = "measuring" // one expert's recall; unit searches
	Verifying Stage = "verifying" // checksums; unit bytes
)

// Progress says how far a build is. Done and Total count the same unit; Total
// is -1 when it cannot be known (reading from a pipe).
type Progress struct {
	Stage    Stage
	Expert   string // for the stages that belong to one
	Done     int64
	Total    int64
	Unit     string // "bytes", "passages", "vectors", "searches"
	Passages int64  // read so far, while reading
}
