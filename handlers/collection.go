package handlers

import (
	"cmp"
	"sync/atomic"

	"example.org/conclave/handlers/front"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/unanswered"
)

// Collection is what answers the requests to one collection, and what writes to it. Until it is
// attached, they are answered with 503.
type Collection struct {
	name      string
	readiness *Readiness
	pace      front.Pace    // of its requests
	members   []*Collection // that are searched as one; nil: it is no several

	engine    atomic.Pointer[Engine]
	writing   atomic.Pointer[writing]
	refusing  atomic.Pointer[string] // why no passage can be written
	keeper    atomic.Pointer[keeping.Keeper]
	originals atomic.Pointer[OriginalReader]
	inputs    jobs.Inputs // set before keeper
	// judgments is set before writing; nil: they are not kept here
	judgments  Judgments
	unanswered *unanswered.Log // set before writing; nil: none are kept
	settings   Settings        // set before engine; nil: it has none that change
}

// NewCollection returns a collection of a name, to which nothing is attached. What is said of it is
// in a Readiness; nil: one of its own.
func NewCollection(name string, r *Readiness) *Collection {
	return &Collection{name: name, readiness: cmp.Or(r, &Readiness{})}
}

// Joined returns several collections as one, to which nothing is attached.
func Joined(name string, members []*Collection) *Collection {
	k := NewCollection(name, nil)
	k.members = members
	return k
}

// Readiness says how the parts of the collection do.
func (k *Collection) Readiness() *Readiness { return k.readiness }

// Attach gives the collection its engine. Until then, everything that needs the engine answers 503.
func (k *Collection) Attach(e Engine) { k.engine.Store(&e) }

// AttachDocuments lets documents be put and deleted. It is called before AttachWriter. Uploads
// of many wait for their job among its inputs.
func (k *Collection) AttachDocuments(keeper *keeping.Keeper, inputs jobs.Inputs) {
	k.inputs = inputs
	k.keeper.Store(keeper)
}

// AttachOriginals lets the files of documents be fetched. Until then there are none.
func (k *Collection) AttachOriginals(r OriginalReader) { k.originals.Store(&r) }

// AttachJudgments lets judgments be kept. It is called before AttachWriter, and not where the store
// cannot keep them.
func (k *Collection) AttachJudgments(j Judgments) { k.judgments = j }

// AttachUnanswered lets the questions be kept that searches do not answer. It is called before AttachWriter.
func (k *Collection) AttachUnanswered(l *unanswered.Log) { k.unanswered = l }

// AttachSettings lets the settings of the collection be asked for and changed. It is called before Attach.
func (k *Collection) AttachSettings(s Settings) { k.settings = s }

// AttachWriter lets passages be written and jobs be asked for. Until then such
// requests answer 503, or 403 where the server only reads.
func (k *Collection) AttachWriter(w Writer, j Jobs, s Snapshots) {
	k.writing.Store(&writing{w, j, s})
}

// RefusePassages lets requests that put passages be answered with 503, and why, while
// a bundle is damaged that they need vectors of; "": they are taken. Deleting and jobs
// go on.
func (k *Collection) RefusePassages(why string) { k.refusing.Store(&why) }
