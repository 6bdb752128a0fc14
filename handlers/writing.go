package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/wording"
	"example.org/conclave/store"
)

// Writer changes the passages of a collection; a writable folder is one.
type Writer interface {
	// Apply makes changes in their order and returns a result for each, durable by then. It waits while the backlog is
	// full. An error means that no result is known.
	Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error)
	// Passage returns the version of a passage that was acknowledged last, even if searches do not see it yet; ok is
	// false if there is none. It calls room with the passage's bytes, which waits for memory, and returns its error.
	Passage(
		ctx context.Context, id string, room func(bytes int) error,
	) (p corpus.Passage, version string, ok bool, err error)
	// Wait waits until searches see the change with the number seq; 0 stands for all changes that were acknowledged
	// before the call. It returns the context's error if that ends first.
	Wait(ctx context.Context, seq uint64) error
	// Backlog returns the stored changes that searches do not see yet, in numbers, and what keeps them from being
	// indexed.
	Backlog() store.Backlog
}

// BoundedWriter is a Writer that depends on other machines: requests wait for its Wait at most MostWait altogether; 0:
// there is no limit.
type BoundedWriter interface {
	// MostWait returns how long a request may wait; 0: as long as it wants.
	MostWait() time.Duration
}

// Jobs is the long work on the collection, such as a *jobs.Queue.
type Jobs interface {
	// Submit adds a job to the queue, or returns a *jobs.Refusal.
	Submit(ctx context.Context, r jobs.Request) (jobs.Job, error)
	// Job returns a job, and whether there is one with this id.
	Job(ctx context.Context, id string) (jobs.Job, bool, error)
	// Jobs returns the jobs that are remembered.
	Jobs(ctx context.Context) ([]jobs.Job, error)
	// Cancel asks for the end of a job and returns it, or a *jobs.Refusal if it cannot be cancelled.
	Cancel(ctx context.Context, id string) (jobs.Job, error)
}

// WriteLimits are the limits of requests that change the collection.
type WriteLimits struct {
	UploadBytes   int64         // of one bulk upload
	DocumentBytes int64         // of one file
	Originals     bool          // the files of documents are kept, but in a store; /v1/limits says so
	Hosts         []string      // whose pages may be added; /v1/limits lists them
	Uploads       int           // at once
	LineBytes     int           // of one passage as JSON
	PassageBytes  int           // of its text
	Tags          int           // of one passage
	MetadataBytes int           // of one passage, as JSON
	AnswerBytes   int64         // of the answer of an upload, which waits for its end
	BytesASecond  int           // how fast an upload has to come in after Grace
	Grace         time.Duration // 0: 10 seconds
}

// checkBounds returns an error if a limit is below 1; Tags and MetadataBytes may be 0.
func (l WriteLimits) checkBounds() error {
	if l.BytesASecond < 1 || l.UploadBytes < 1 ||
		l.DocumentBytes < 1 || l.Uploads < 1 || l.LineBytes < 1 || l.PassageBytes < 1 || l.Tags < 0 ||
		l.MetadataBytes < 0 ||
		l.AnswerBytes < 1 {
		return fmt.Errorf("handlers: impossible limits of writing: %+v", l)
	}
	return nil
}

// backlogHeader says, on every answer to a write, how many changes searches do
// not see yet.
const backlogHeader = "Conclave-Backlog"

// collectionWriter has the parts that AttachWriter set.
type collectionWriter struct {
	Writer
	jobs      Jobs
	snapshots Snapshots
}

// AttachWriter does what Collection.AttachWriter does for the API's own collection, and adds its backlog to /metrics.
// Call it once. It fails if there is a backlog in /metrics already.
func (a *API) AttachWriter(w Writer, j Jobs, s Snapshots) error {
	a.Collection.AttachWriter(w, j, s)
	return a.ShowWriting()
}

// ShowWriting adds the backlog and the jobs of the API's own collection to /metrics. Call it once, after AttachWriter.
// It fails if they are there already.
func (a *API) ShowWriting() error { return a.options.Metrics.showBacklog(a.writing.Load()) }

// passageWriter returns the parts that write to the collection, for a request that puts passages. It returns a problem
// if the server is read-only (403), the collection is still being opened (503), or RefusePassages is in force.
func (a *API) passageWriter() (*collectionWriter, error) {
	w, err := a.changeWriter()
	if err != nil {
		return nil, err
	}
	if why := a.refusing.Load(); why != nil && *why != "" {
		return nil, schema.NewProblem("not_written", *why)
	}
	return w, nil
}

// changeWriter returns the parts that write to the collection. It returns a problem if the server is read-only (403) or
// the collection is still being opened (503).
func (a *API) changeWriter() (*collectionWriter, error) {
	if w := a.writing.Load(); w != nil {
		return w, nil
	}
	if a.options.ReadOnly {
		return nil, schema.NewProblem(
			"read_only",
			"This server only reads its collection. Start it without read_only to write, or use the server that writes to it.",
		)
	}
	return nil, schema.NewProblem("not_ready", "The collection is still being opened; /readyz tells how far it is.")
}

// applyChanges makes changes and returns a result for each, in their order, once they are durable; it also counts and
// times them. A full backlog delays it: until the changes are made, it calls extend at intervals, to move the
// connection's deadlines. A change that is refused has its error in its result. The error means that no result is
// known: a problem, or the context's.
func (a *API) applyChanges(
	ctx context.Context,
	w Writer,
	changes []store.Change,
	extend func(),
) ([]store.ChangeResult, error) {
	began := time.Now()
	stop := a.keepExtending(extend)
	results, err := w.Apply(ctx, changes)
	stop()
	if err != nil {
		return nil, storeProblem(err)
	}
	a.options.Metrics.commit.Observe(time.Since(began).Seconds())
	for i := range results {
		a.options.Metrics.countWrite(string(results[i].Outcome), results[i].Err)
	}
	return results, nil
}

// refusedError is an error of a store that has a text for users on why it takes no change.
type refusedError interface {
	error
	Refusal() string
}

// isRefusal reports whether an error says why a store takes no change, or that the disk is full.
func isRefusal(err error) bool {
	var refused refusedError
	return errors.As(err, &refused) || isFull(err)
}

// isFull reports whether an error says that the disk is full or a file has reached its size limit.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// storeProblem returns the problem for an error of storing changes. An error that only says that the request ended or
// its time is up is returned as it is.
func storeProblem(err error) error {
	if !isRefusal(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	return notWritten(err)
}

// notWritten returns the problem for the error with which a change could not be stored: storage_full, quota_exceeded,
// not_ready if the server shuts down, and otherwise not_written.
func notWritten(err error) *schema.Problem {
	const safe = " What was acknowledged before is safe, and searches go on."
	code, why, remedy := "not_written", "The change could not be stored; the server's log says why.", ""
	var quota *store.QuotaError
	if errors.As(err, &quota) {
		return schema.NewProblem("quota_exceeded", schema.Sentence(quota.Error()))
	}
	var refused refusedError
	addressed := errors.As(err, &refused)
	switch {
	case isFull(err):
		code, remedy = "storage_full", " Free some space and send it again."
		why = "The change could not be stored, since the disk is full or the file as large as it may be."
	case addressed:
	case errors.Is(err, store.ErrClosed):
		return schema.NewProblem("not_ready", "The server is shutting down; the change was not made.").Because(err)
	}
	if addressed {
		why = "The change could not be stored: " + strings.TrimSuffix(refused.Refusal(), ".") + "."
	}
	return schema.NewProblem(code, why+safe+remedy).Because(err)
}

// refusedChange returns the problem for the error of one change: version_mismatch, or that of an invalid field. Any
// other error becomes an internal error (500).
func refusedChange(err error) *schema.Problem {
	var version *store.VersionError
	var field *corpus.FieldError
	switch {
	case errors.As(err, &version):
		p := schema.NewProblem("version_mismatch", schema.Sentence(version.Error()))
		if version.Want == "absent" {
			p.Detail = fmt.Sprintf(
				"There is a passage %s already, with the version %s, and If-None-Match asks that there be none.",
				wording.Quote(version.ID), version.Have,
			)
		}
		return p
	case errors.As(err, &field):
		return invalidPassage(field)
	}
	return schema.NewProblem(
		"internal", "The server failed in a way that it did not expect; its log has the cause under this request id.",
	).Because(err)
}

// awaitVisible waits until searches see the change with this number. It returns a problem if the collection cannot show
// it now, or a BoundedWriter's limit is over; the change is stored nevertheless. The request's body must have been
// read: a read deadline that passes would look as if the client had left. It returns the context's error if the request
// ends first. Meanwhile it moves the write deadline of the connection.
func (a *API) awaitVisible(r *http.Request, w *collectionWriter, seq uint64, control *http.ResponseController) error {
	since := time.Now()
	most := time.Duration(0)
	if bounded, ok := w.Writer.(BoundedWriter); ok {
		most = bounded.MostWait()
	}
	for {
		a.extendWriting(control)
		ctx, cancel := context.WithTimeout(r.Context(), a.extendEvery())
		err := w.Wait(ctx, seq)
		cancel()
		if err == nil || r.Context().Err() != nil {
			return err
		}
		if trouble := w.Backlog().Trouble; trouble != nil {
			return schema.NewProblem(
				"not_visible",
				"What was written is stored and safe, but searches do not see it yet: the server cannot index it at the moment, and goes on trying. Its log says why.",
			).Because(trouble)
		}
		if most > 0 && time.Since(since) >= most {
			return schema.NewProblem(
				"not_visible",
				fmt.Sprintf("What was written is stored and safe, but searches did not see it within %s: the cluster goes on "+
					"making it visible.", most),
			).Because(err)
		}
	}
}

// keepExtending calls extend at once, and then every extendEvery in a goroutine, until stop is called. stop must be
// called once, and waits for the goroutine.
func (a *API) keepExtending(extend func()) (stop func()) {
	extend()
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		again := time.NewTicker(a.extendEvery())
		defer again.Stop()
		for {
			select {
			case <-again.C:
				extend()
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-left
	}
}

// extendEvery returns the interval in which deadlines are moved during a wait: a quarter of the shorter timeout, at
// most a second.
func (a *API) extendEvery() time.Duration {
	every := time.Second
	for _, timeout := range []int64{a.readTimeout.Load(), a.writeTimeout.Load()} {
		if timeout > 0 {
			every = max(min(every, time.Duration(timeout)/4), time.Millisecond)
		}
	}
	return every
}

// extendWriting moves the connection's write deadline to a full timeout from now.
func (a *API) extendWriting(control *http.ResponseController) {
	if write := a.writeTimeout.Load(); write > 0 {
		_ = control.SetWriteDeadline(time.Now().Add(time.Duration(write)))
	}
}

// noteBacklog sets the header Conclave-Backlog to the number of stored changes that searches do not see yet.
func (w *collectionWriter) noteBacklog(h http.Header) {
	h.Set(backlogHeader, strconv.Itoa(w.Backlog().Changes))
}

// etagsOf returns the entity tags in the values of a header, without quotes and without the suffix that compression
// adds. Weak ones keep their W/ and quotes. Empty elements, and a header that is missing, give "".
func etagsOf(header []string) []string {
	var out []string
	for tag := range strings.SplitSeq(strings.Join(header, ","), ",") {
		tag = strings.TrimSpace(tag)
		if inner, ok := strings.CutPrefix(tag, `"`); ok {
			tag = strings.TrimSuffix(strings.TrimSuffix(inner, `"`), etagSuffix)
		}
		out = append(out, tag)
	}
	return out
}
