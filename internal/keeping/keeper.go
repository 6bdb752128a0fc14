// Package keeping puts documents into a collection, replaces them and takes them out, each
// in one change that searches see whole or not at all.
//
// A document is its passages (corpus.DocumentOf): the first of them is its record, and its
// version, which serves as the document's ETag, is the document's. There is nothing beside
// them that a crash could leave behind, and whatever carries passages, such as snapshots
// and exports, carries documents.
package keeping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// Writer is a collection that a Keeper writes documents to.
type Writer interface {
	// ApplyTogether makes all changes or none, and searches see all of them or none.
	ApplyTogether(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error)
	// Passage reads a passage as it was acknowledged last.
	Passage(
		ctx context.Context, id string, room func(bytes int) error,
	) (p corpus.Passage, version string, ok bool, err error)
}

// Originals keeps copies of files.
type Originals interface {
	// Keep stores a copy of a file so that it would survive a power cut. The copy stays at least until release is
	// called, and after that for as long as a document of the collection says that it has it. It returns an error if
	// it cannot be stored.
	Keep(data []byte) (release func(), err error)
}

// DocumentFile is a document to put: its id and attributes (About), its media type and its bytes.
type DocumentFile struct {
	documents.About
	Type string // the media type that was declared; "" where none was
	Data []byte
	// Encoding is the known encoding of a text; "": it is detected.
	Encoding string
	// Uncopied keeps no copy of the file in the collection, as of a page that is at its address.
	Uncopied bool
	// Attached is called with each file that is attached to a mail, after the mail was stored or could not be
	// read. Nil: attachments are not taken, and ChangeResult.Warnings names them.
	Attached func(documents.Member) error
}

// Condition is what the stored document must be for a change to be made; otherwise the change fails with a
// *store.VersionError. The zero value is no condition.
type Condition struct {
	IfMatch  string // the version that it must have; "*": any version; "": it may be absent too
	IfAbsent bool   // it must not exist
}

// ChangeResult is the outcome of one change of a document.
type ChangeResult struct {
	ID       string        `json:"id"`
	Outcome  store.Outcome `json:"status"`
	Version  string        `json:"version,omitempty"`
	Passages int           `json:"passages"`
	// Warnings are what was left out of the file.
	Warnings []string `json:"warnings,omitempty"`
	// Seq numbers the last change: Writer's Wait waits until searches see it.
	Seq uint64 `json:"-"`
}

// Keeper reads files and stores, replaces and deletes the documents of a collection.
type Keeper struct {
	writer Writer
	reader *documents.Extractor
	words  int
	copies Originals
}

// New returns a Keeper that reads files as the options say and writes their passages to w. It keeps files whose
// About.Original is "" in copies, before they are written; if copies is nil, they are not kept.
func New(w Writer, o documents.Options, copies Originals) *Keeper {
	return &Keeper{writer: w, reader: o.Extractor(), words: o.Words, copies: copies}
}

// Reader returns the Extractor that the keeper reads files with.
func (k *Keeper) Reader() *documents.Extractor { return k.reader }

// attempts is how often a change is tried before it fails because others changed the document in between.
const attempts = 20

// Put reads a file and stores it as the document f.ID, in place of the one that has this id. When it returns, the
// document survives a power cut. Without f.Modified, the time of the change is now, or that of the stored document
// if that has the same bytes. Against others that change the document at the same time it tries again, if c is
// zero. The error is a *documents.UnreadableError if the file cannot be read, a *corpus.FieldError if the document
// cannot be stored, a *store.VersionError if the condition c does not hold, or that of f.Attached, before which the
// document is stored.
func (k *Keeper) Put(ctx context.Context, f DocumentFile, c Condition) (ChangeResult, error) {
	if err := checkAbout(&f.About); err != nil {
		return ChangeResult{}, err
	}
	reading, release := documents.HoldResults(ctx)
	defer release()
	in := documents.Input{Name: f.ID, Type: f.Type, Encoding: f.Encoding, Data: f.Data}
	read, attached, err := k.reader.Read(reading, in)
	if err == nil {
		return k.putRead(ctx, f, read, attached, c, release)
	}
	if f.Attached == nil {
		return ChangeResult{}, err
	}
	release()
	return ChangeResult{}, errors.Join(err, eachAttached(f, attached))
}

// eachAttached calls f.Attached, which must not be nil, with each attachment in order, and stops at the first error
// and returns it.
func eachAttached(f DocumentFile, attached []documents.Member) error {
	for _, a := range attached {
		if err := f.Attached(a); err != nil {
			return err
		}
	}
	return nil
}

// putRead stores a file whose content was read, as Put describes, and hands its attachments on, or names them in
// warnings. stored is called when the content is not needed any more; it is not called if the copy cannot be kept
// or all attempts failed.
func (k *Keeper) putRead(
	ctx context.Context,
	f DocumentFile,
	read *documents.Document,
	attached []documents.Member,
	c Condition,
	stored func(),
) (ChangeResult, error) {
	if f.Original == "" && k.copies != nil && !f.Uncopied {
		release, err := k.copies.Keep(f.Data)
		if err != nil {
			return ChangeResult{}, err
		}
		defer release()
		f.Original = corpus.OriginalCopy
	}
	for range attempts {
		result, err := k.put(ctx, f, read, c)
		if overtaken(err, c) {
			continue
		}
		stored()
		result.Warnings = slices.Concat(read.Warnings, result.Warnings)
		if f.Attached != nil && err == nil {
			return result, eachAttached(f, attached)
		}
		for _, a := range attached {
			result.Warnings = append(result.Warnings, AttachedWarning(a.Name))
		}
		return result, err
	}
	return ChangeResult{}, fmt.Errorf("document %q was changed by others during each of %d attempts: try again", f.ID, attempts)
}

// AttachedWarning returns the warning that an attachment of a mail, of this name, was not taken with the mail.
func AttachedWarning(name string) string {
	return name + " is attached and was not read: put it as a document of its own"
}

// checkAbout returns a *corpus.FieldError if a document's id, title, tags or metadata cannot be stored with its
// passages, such as a metadata key that is reserved for documents.
func checkAbout(about *documents.About) error {
	for _, key := range corpus.DocumentKeys() {
		if _, taken := about.Metadata[key]; taken {
			return &corpus.FieldError{Field: "metadata." + key, Problem: "is a reserved key: choose another name"}
		}
	}
	p := corpus.Passage{ID: about.ID, Title: about.Title, Text: "x", Tags: about.Tags, Metadata: about.Metadata}
	return p.Check()
}

// overtaken reports whether a change without a condition failed because somebody changed the document after look: it
// can be tried again.
func overtaken(err error, c Condition) bool {
	var version *store.VersionError
	return errors.As(err, &version) && c == Condition{}
}

// put tries once to replace the document's passages by those of d. It fails with a *store.VersionError if the condition
// does not hold, or somebody changed the document meanwhile (overtaken).
func (k *Keeper) put(ctx context.Context, f DocumentFile, d *documents.Document, c Condition) (ChangeResult, error) {
	stored, err := k.look(ctx, f.ID)
	if err != nil {
		return ChangeResult{}, err
	}
	if f.Modified.IsZero() {
		f.Modified = time.Now()
		if documents.SumOf(f.Data) == stored.document.SHA256 {
			f.Modified = stored.document.Modified // the same file
		}
	}
	passages := documents.PassagesOf(f.About, d, f.Data, k.words)
	changes := make([]store.Change, len(passages), max(len(passages), stored.passages))
	for i := range passages {
		changes[i].Put = &passages[i]
	}
	for n := len(passages) + 1; n <= stored.passages; n++ {
		changes = append(changes, store.Change{Delete: corpus.PassageID(f.ID, n)})
	}
	result, err := k.change(ctx, f.ID, changes, stored, c)
	result.Passages = len(passages)
	if stored.document.Root != "" && f.Root == "" {
		result.Warnings = append(result.Warnings, partedWarning)
	}
	return result, err
}

// partedWarning is the warning of a change that puts something else in the place of a document that follows a file.
const partedWarning = "it followed a file and does not any more: the file is added again, under another id, " +
	"when its folder is looked at; change the file instead"

// Delete deletes a document. If there is none, the outcome is store.Absent and the error nil, unless the condition asks
// for a version. It fails with a *store.VersionError where the condition does not hold.
func (k *Keeper) Delete(ctx context.Context, id string, c Condition) (ChangeResult, error) {
	for range attempts {
		result, err := k.remove(ctx, id, c)
		if !overtaken(err, c) {
			return result, err
		}
	}
	return ChangeResult{}, fmt.Errorf("document %q was changed by others during each of %d attempts: try again", id, attempts)
}

// remove tries once to delete a document with its passages. If there is none and c names no version, the outcome is
// store.Absent. It fails with a *store.VersionError if the condition does not hold, or somebody changed the document
// meanwhile (overtaken).
func (k *Keeper) remove(ctx context.Context, id string, c Condition) (ChangeResult, error) {
	stored, err := k.look(ctx, id)
	if err != nil {
		return ChangeResult{}, err
	}
	if stored.passages == 0 && c.IfMatch == "" {
		return ChangeResult{ID: id, Outcome: store.Absent}, nil
	}
	changes := make([]store.Change, max(1, stored.passages))
	for i := range changes {
		changes[i].Delete = corpus.PassageID(id, i+1)
	}
	return k.change(ctx, id, changes, stored, c)
}

// change makes all changes of a document's passages, or none, if the document still has the version in stored and
// meets the condition. changes[0] must be that of the first passage. Otherwise the error is a *store.VersionError.
func (k *Keeper) change(
	ctx context.Context,
	id string,
	changes []store.Change,
	stored storedDocument,
	c Condition,
) (ChangeResult, error) {
	first := &changes[0]
	first.IfMatch, first.IfAbsent = c.IfMatch, c.IfAbsent
	switch {
	case c.IfMatch == "" && stored.version == "":
		first.IfAbsent = first.Put != nil
	case !c.IfAbsent && (c.IfMatch == "" || c.IfMatch == "*" && stored.version != ""):
		first.IfMatch = stored.version
	}
	results, err := k.writer.ApplyTogether(ctx, changes)
	if err != nil {
		return ChangeResult{}, err
	}
	out := ChangeResult{ID: id, Outcome: results[0].Outcome, Version: results[0].Version}
	for i, r := range results {
		if r.Err != nil {
			return ChangeResult{}, ofDocument(id, i, r.Err)
		}
		out.Seq = max(out.Seq, r.Seq)
		if out.Outcome == store.Unchanged && r.Outcome != store.Unchanged && r.Outcome != store.Absent {
			out.Outcome = store.Replaced
		}
		if out.Outcome == store.Absent && r.Outcome == store.Deleted {
			out.Outcome = store.Deleted
		}
	}
	return out, nil
}

// ofDocument returns the error of the document's passage at index at as an error of the document: a *store.VersionError
// gets the document's id, others name the passage.
func ofDocument(id string, at int, err error) error {
	var version *store.VersionError
	if errors.As(err, &version) {
		whole := *version
		whole.ID = id
		return &whole
	}
	return fmt.Errorf("passage %d: %w", at+1, err)
}

// storedDocument is the stored state of a document; the zero value: there is none.
type storedDocument struct {
	document corpus.Document
	version  string // of its first passage; "" where there is none
	passages int    // up to the last one that is there
}

// look returns the stored state of a document, with passages behind the last one of its record counted too. It fails if
// the id is not valid (checkID) or the writer cannot be read.
func (k *Keeper) look(ctx context.Context, id string) (out storedDocument, err error) {
	if err := checkID(id); err != nil {
		return out, err
	}
	one := func(int) error { return nil } // passage at a time
	first, version, ok, err := k.writer.Passage(ctx, corpus.PassageID(id, 1), one)
	if err != nil {
		return out, err
	}
	if ok {
		out.version, out.passages = version, 1
		if d, _, isPassage := corpus.DocumentOf(&first); isPassage {
			out.document = d
			out.passages = max(1, d.Passages)
		}
	}
	for { // what somebody put behind them by hand
		_, _, more, err := k.writer.Passage(ctx, corpus.PassageID(id, out.passages+1), one)
		if err != nil || !more {
			return out, err
		}
		out.passages++
	}
}

// checkID returns a *corpus.FieldError for an id that is empty or not valid, or so long that the ids of its passages
// would not be valid.
func checkID(id string) error {
	if strings.TrimSpace(id) == "" {
		return &corpus.FieldError{Field: "id", Problem: "is missing or empty: every document needs an id of its own"}
	}
	if err := corpus.CheckID(id); err != nil {
		return err
	}
	return corpus.CheckID(corpus.PassageID(id, 1))
}
