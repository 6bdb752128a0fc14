package store

import (
	"context"
	"io"
	"time"

	"example.org/conclave/internal/jobs/lease"
	"example.org/conclave/search/storage"
)

// Backend is an open store: the passages of a collection with their words and vectors, as they
// are searched, followed and written. What only some stores can do is asked for by a method that
// returns an error where this one cannot; its text tells users what to do instead.
type Backend interface {
	storage.Corpus

	// Contents returns what the encoders of questions are compared with, as searches see it now.
	// done is to be called when it is not needed any more.
	Contents() (c Contents, done func())
	// Count asks how many passages there are, and in which generation.
	Count(ctx context.Context) (generation uint64, passages int, err error)
	// Describe examines the store, for people.
	Describe(ctx context.Context) (Description, error)
	// Meters returns what is measured of the store, for monitoring.
	Meters() []Meter
	// Observe has a function called after each request to another machine, by several at the
	// same time. It is to be set before the store is searched.
	Observe(func(Exchange))
	// Watch tells a Watcher, until ctx is done, of what changes.
	Watch(ctx context.Context, w Watcher)

	// Calibration returns the text of the record that was fitted for the collection; nil: there
	// is none.
	Calibration() ([]byte, error)
	// Settings returns the text of the collection's own settings (collections.Format); nothing where it has none.
	Settings() ([]byte, error)
	// CalibrationAt says for people where that is.
	CalibrationAt() string
	// MayCalibrate returns an error where Calibrate would be refused.
	MayCalibrate(ctx context.Context) error
	// Calibrate puts the text of a record in the place of the one before.
	Calibrate(ctx context.Context, text []byte) error

	// Configure puts another text in the place of the settings. Watcher.Recalibrated tells all who serve the
	// collection of it.
	Configure(ctx context.Context, text []byte) error

	// Write lets the store be written to by this process. Where that is not allowed, or not
	// while another process does, the error is a *WriteError.
	Write(ctx context.Context, o WriteOptions) (Writer, error)
	// JobsFolder returns the folder of this machine that holds the jobs of the collection; "":
	// they are in JobRegisters, which all its servers share.
	JobsFolder() string
	// JobRegisters returns the register of the jobs, and that of who works on one.
	JobRegisters() (jobs, working lease.Register)
	// JobInputs returns what keeps the inputs of jobs for all servers, where JobRegisters has them.
	JobInputs() Inputs

	// Join shows collections of one store, of which this is one, as one corpus, by their names: statistics of words are
	// of all of them. They have to stay open for as long as it is in use.
	Join(all []Backend, names []string) (JoinedCorpus, error)

	// ExportPassages writes the passages that searches see, of those that a filter lets through by its tags, documents
	// and Where, as JSON Lines. A *conditions.MisfitError says what does not fit the fields.
	ExportPassages(ctx context.Context, to io.Writer, f storage.Filter) error
	// Everything returns the passages with their vectors, of which Location.Index makes the same
	// collection elsewhere.
	Everything(ctx context.Context) (*Everything, error)

	Close() error
}

// JoinedCorpus is several collections as one corpus. Its views are storage.MultiCollection.
type JoinedCorpus interface {
	storage.Corpus
	// Experts returns the names of the experts that all of them have.
	Experts() []string
	// Current reports whether searches of the members would see what searches of JoinedCorpus see: no passage was written
	// or deleted since Join, and no expert came or went.
	Current() bool
	// Close ends it, when nothing searches it any more.
	Close()
}

// Inputs keeps what jobs read, such as uploads, where every server has it.
type Inputs interface {
	// Keep stores what write writes, under a name of its own that begins with prefix, and calls
	// accept with that when it would survive a power cut. Where one of the two fails nothing is
	// kept, and its error returned.
	Keep(ctx context.Context, prefix string, write func(io.Writer) error, accept func(name string) error) error
	// Open opens an input, which is an fs.ErrNotExist where it is gone.
	Open(ctx context.Context, name string) (in io.ReaderAt, bytes int64, closes func() error, err error)
	// Sweep removes what is not wanted and that nobody is about to keep.
	Sweep(ctx context.Context, wanted func(ctx context.Context, name string) (bool, error)) error
}

// Contents is what a store holds at one moment, for those who encode.
type Contents interface {
	// Experts are those of which each passage has vectors, in the order they were given.
	Experts() []Expert
	// CheckEncoders returns an error where questions cannot be asked with one of these encoders:
	// there are no vectors of it, or another encoder made them.
	CheckEncoders(encoders ...Encoder) error
	// CheckRecall returns an error where an index finds too little to be served: its measured
	// recall@10 is below the floor of its kind.
	CheckRecall(floors map[string]float64) error
	// Reads says how the experts read the passages.
	Reads() Reads
	// VerifyVectors compares the checksums of vectors and their indexes, where the store has
	// them at hand.
	VerifyVectors(ctx context.Context) error
}

// Watcher hears what becomes of a store, by one goroutine.
type Watcher interface {
	// Comes is called before searches see what another process published; on an error they go on
	// with what they saw.
	Comes(next Contents) error
	// Came is called when searches see it.
	Came(now Contents)
	// Recalibrated is called when there is another calibration than Calibration returned last, or other settings.
	Recalibrated()
	// ReadsPassages tells how the experts read the passages.
	ReadsPassages(r Reads)
	// Is tells how the store is, whenever it was looked at.
	Is(c Condition)
}

// Condition is how a store is.
type Condition struct {
	Of       string   // "collection", or what else it is called
	Failed   string   // why its passages cannot be searched; "": they can
	Warnings []string // for whoever runs it
	// Err is why the newest state could not be shown; searches go on with the one before.
	Err error
	// Gone: the collection that was opened is removed, or another one has its place.
	Gone bool
}

// Description is what examining a store found.
type Description struct {
	Of     string // "collection", or what else it is called
	Text   string
	Noted  bool  // the text names something to be mended, with which searches work
	Failed error // why it cannot be searched
}

// BytesMeter is the name of the Meter of how many bytes a collection has.
const BytesMeter = "collection_bytes"

// Meter is a number that changes.
type Meter struct {
	Name, Help string
	Value      func() float64
}

// Exchange is a request to another machine, and its answer.
type Exchange struct {
	Node      string // host and port
	Operation string
	Outcome   string // ok, error, or overtaken: another node was asked too, and answered first
	Took      time.Duration
}

// Everything is the passages of a store with their vectors, as a build takes them.
type Everything struct {
	Stream
	Words       WordConstants
	Experts     []PassageEncoder // that read the vectors of the passages they are given
	Calibration []byte           // nil: none
	Settings    []byte           // nil: none
	Close       func() error
}
