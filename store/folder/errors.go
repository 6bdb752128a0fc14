package folder

import (
	"errors"
	"fmt"

	"example.org/conclave/store/folder/internal/manifest"
)

// Error is an error of a collection with the facts that callers need to suggest a
// remedy. Its text names no command, since it may reach clients of a server.
type Error struct {
	Fault  error  // one of those below
	Dir    string // the collection's folder
	Expert string // whose vectors or encoder it is about; "" for none
	Err    error  // what was found, for people
}

// Error returns the text of Err, without the fault.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the fault and Err, for errors.Is and errors.As.
func (e *Error) Unwrap() []error { return []error{e.Fault, e.Err} }

// The faults of an Error.
var (
	// ErrNotCollection: the folder holds no collection.
	ErrNotCollection = errors.New("no collection")
	// ErrNoVectors: the collection has no vectors of the expert.
	ErrNoVectors = errors.New("no vectors of the expert")
	// ErrHasVectors: the expert is to be added and is there already.
	ErrHasVectors = errors.New("vectors of the expert already")
	// ErrNoOwner: an expert has no vectors of its own, and the one whose vectors it
	// searches is not there, or has others.
	ErrNoOwner = errors.New("no owner of the vectors")
	// ErrIsOwner: the expert is to be removed, and another one searches its vectors.
	ErrIsOwner = errors.New("owner of another expert's vectors")
	// ErrOtherEncoder: another encoder made the expert's vectors.
	ErrOtherEncoder = errors.New("vectors of another encoder")
	// ErrNoEncoder: passages are to be added without the expert's encoder.
	ErrNoEncoder = errors.New("an encoder is missing")
	// ErrLowRecall: the expert's index finds too little to be served.
	ErrLowRecall = errors.New("too low a recall")
	// ErrDamagedVectors: a file of the expert's vectors cannot be used. The
	// passages can be encoded again.
	ErrDamagedVectors = errors.New("damaged vectors")
	// ErrDamagedWords: a file of words cannot be used. The passages can be
	// analysed again.
	ErrDamagedWords = errors.New("damaged words")
	// ErrOtherFormat: the files are of a format that this program does not read. The passages can be indexed again.
	ErrOtherFormat = errors.New("files of another format")
	// ErrOtherAnalyser: another version analysed the words.
	ErrOtherAnalyser = errors.New("words of another analyser")
	// ErrOtherWords: passages are to be added with other parameters of BM25.
	ErrOtherWords = errors.New("words with other parameters")
)

// fault returns an *Error with one of the Err variables above as its Fault, and the text of format and args. expert
// is "" if the fault concerns none. dir is the collection's folder.
func fault(kind error, dir, expert, format string, args ...any) error {
	return &Error{Fault: kind, Dir: dir, Expert: expert, Err: fmt.Errorf(format, args...)}
}

// checkOwners returns an ErrNoOwner fault if an expert of the plan searches the vectors of one that is missing, or
// has others. dir is the collection's folder, for messages.
func checkOwners(plan *manifest.Manifest, dir string) error {
	return ownerFault(plan.CheckOwners(), dir)
}

// ownerFault returns an ErrNoOwner fault for an error that wraps a *manifest.OwnerError, and any other error as it
// is. dir is the collection's folder, for messages.
func ownerFault(err error, dir string) error {
	if e := (*manifest.OwnerError)(nil); errors.As(err, &e) {
		return fault(ErrNoOwner, dir, e.Owner, "%w", err)
	}
	return err
}
