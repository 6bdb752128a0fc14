package handlers

import (
	"cmp"
	"sync/atomic"

	"example.org/conclave/handlers/front"
	"example.org/conclave/internal/asked"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
)

// Collection has the parts that answer requests to one collection: engine, writer, documents, jobs. Requests that need
// a part are answered with 503 until it is attached.
type Collection struct {
	name      string
	readiness *Readiness
	pace      front.Pace    // of its requests
	members   []*Collection // that it searches as one (JoinCollections); nil: it is a single collection

	engine    atomic.Pointer[Engine]
	writing   atomic.Pointer[collectionWriter]
	refusing  atomic.Pointer[string] // why no passage can be written
	keeper    atomic.Pointer[keeping.Keeper]
	originals atomic.Pointer[OriginalReader]
	inputs    jobs.Inputs // set before keeper
	// judgments is set before writing; nil: they are not kept here
	judgments  Judgments
	unanswered *asked.Log         // set before writing; nil: none are kept
	answered   *answeredQuestions // set before writing; nil: none are kept
	settings   Settings           // set before engine; nil: it has none that change
}

// NewCollection returns a collection without any parts. r reports their state; nil: the collection gets a Readiness of
// its own.
func NewCollection(name string, r *Readiness) *Collection {
	return &Collection{name: name, readiness: cmp.Or(r, &Readiness{})}
}

// JoinCollections returns a collection that searches several as one. Nothing is attached to it yet.
func JoinCollections(name string, members []*Collection) *Collection {
	k := NewCollection(name, nil)
	k.members = members
	return k
}

// Readiness returns the state of the collection's parts.
func (k *Collection) Readiness() *Readiness { return k.readiness }

// Attach sets the engine. Until then, requests that need it are answered with 503.
func (k *Collection) Attach(e Engine) { k.engine.Store(&e) }

// AttachDocuments sets the keeper, which stores and deletes documents. inputs keeps uploads of many files until their
// job runs. Call it before AttachWriter.
func (k *Collection) AttachDocuments(keeper *keeping.Keeper, inputs jobs.Inputs) {
	k.inputs = inputs
	k.keeper.Store(keeper)
}

// AttachOriginals sets the reader of the files that documents were read from. Until then, requests for the file of a
// document get the problem no_original.
func (k *Collection) AttachOriginals(r OriginalReader) { k.originals.Store(&r) }

// AttachJudgments sets the store of judgments. Call it before AttachWriter; leave it out if the collection's store
// cannot keep judgments, which then get 404.
func (k *Collection) AttachJudgments(j Judgments) { k.judgments = j }

// AttachUnanswered sets the log of the questions that searches do not answer. Call it before AttachWriter.
func (k *Collection) AttachUnanswered(l *asked.Log) { k.unanswered = l }

// AttachAnswered sets the log of the questions that searches answer, and how many callers have to ask one before it is
// suggested. Call it before AttachWriter.
func (k *Collection) AttachAnswered(l *asked.Log, askers int) {
	k.answered = &answeredQuestions{l, askers}
}

// AttachSettings sets the reader and writer of the collection's settings. Call it before Attach.
func (k *Collection) AttachSettings(s Settings) { k.settings = s }

// AttachWriter sets the writer of passages, the queue of jobs, and the snapshots. Until then, requests to write are
// answered with 503, or with 403 if the server is read-only.
func (k *Collection) AttachWriter(w Writer, j Jobs, s Snapshots) {
	k.writing.Store(&collectionWriter{w, j, s})
}

// RefusePassages makes requests that put passages fail with 503 and this reason; "" accepts them again. It is for a
// damaged bundle, whose vectors new passages would need. Deletions and jobs go on.
func (k *Collection) RefusePassages(why string) { k.refusing.Store(&why) }
