package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/handlers/upload"
	"example.org/conclave/internal/overload"
)

// UploadLine is the answer to one line of a bulk upload.
type UploadLine struct {
	Line    int             `json:"line"` // from 1
	ID      string          `json:"id"`   // "" where the line does not tell
	Status  string          `json:"status"`
	Version string          `json:"version,omitempty"`
	Error   *schema.Problem `json:"error,omitempty"`
	// Unknown are fields that no line before had, and that are not known.
	Unknown []string `json:"unknown_fields,omitempty"`
	ReadAs
}

// ReadAs says that experts do not read all of a passage.
type ReadAs struct {
	Truncated bool `json:"truncated,omitempty"` // the beginning alone
	Unread    bool `json:"unread,omitempty"`    // hardly
}

// uploadProblem is the last line of an answer that ends before the upload.
type uploadProblem struct {
	*schema.Problem
	Line int `json:"line"` // the first that was not answered
}

const (
	statusRejected = "rejected"
)

// mostRejected is how many lines in a row may be rejected before an upload ends: the file is then probably a wrong one.
const mostRejected = 4096

// The headers of an upload's answer, besides backlogHeader.
const (
	acceptedHeader = "Conclave-Accepted"
	rejectedHeader = "Conclave-Rejected"
)

// openUploads times WriteLimits.Uploads is the number of uploads that may be under way. Only Uploads of them store
// lines at a time, so that slow senders do not block others.
const openUploads = 16

// postPassages answers POST /v1/passages: it stores the passages in the lines of the body, and answers with the result
// of each line and the counts. One goroutine reads lines, and this one stores those that arrived while the group before
// was made durable. If storing is slower than sending, the client is held back, so a body of any size takes a few
// megabytes of memory. It returns a problem if nothing was read; a later problem ends the answer, and lines that were
// stored stay stored.
func (a *API) postPassages(c *call) error {
	w, r := c.w, c.r
	writer, err := a.passageWriter()
	if err != nil {
		return err
	}
	if r.ContentLength > a.options.Write.UploadBytes {
		return upload.BodyTooLarge(a.options.Write.UploadBytes)
	}
	who := front.CallerName(r)
	if !a.uploads.Take(who) {
		return schema.NewProblem(
			"too_many_requests",
			fmt.Sprintf("This caller has as many uploads under way as one caller may have while others upload (%d for all callers): wait until one of them ends.",
				openUploads*a.options.Write.Uploads),
		)
	}
	defer a.uploads.Leave(who)
	control := http.NewResponseController(w)
	// Without it the first write of an answer ends the reading of an HTTP/1
	// body. HTTP/2 needs none.
	_ = control.EnableFullDuplex()
	u := &uploadRequest{
		api:     a,
		writer:  writer,
		request: r,
		control: control,
		w:       w,
		header:  w.Header(),
		who:     who,
		looked:  time.Now(),
		strict:  c.query["strict"] == true,
		seen:    map[string]bool{},
	}
	// What came in is stored, also when the client closes its half of the
	// connection behind it, which ends the request's context.
	storing, done := context.WithCancel(context.WithoutCancel(r.Context()))
	defer done()
	defer context.AfterFunc(a.servingContext(r), done)()
	u.storing = storing
	if c.query["stream"] == true {
		u.answer = &upload.Stream{W: w, Control: control, Head: u.setHeader, Extend: u.extendDeadlines}
	} else {
		u.answer = &upload.Spool{W: w, Dir: a.options.TempDir, Extend: u.extendDeadlines}
	}
	defer u.answer.Close()
	problem := u.storeBody(r.Body)
	if problem == nil && c.query["refresh"] == "wait" && u.last > 0 {
		if err := a.awaitVisible(r, writer, u.last, control); err != nil {
			problem = problemOf(r.Context(), err)
		}
	}
	u.noteCounts(problem)
	if problem != nil && problem.Code == "slow_request" {
		u.header.Set("Connection", "close")
	}
	if problem != nil && u.lines == 0 {
		return problem // nothing of the answer has been sent
	}
	if err := u.endWith(problem); err != nil {
		return abortConnection(r.Context(), err)
	}
	status := http.StatusOK
	if u.accepted == 0 && u.rejected > 0 {
		status = http.StatusUnprocessableEntity // where it was not sent before
	}
	if err := u.answer.Finish(status, u.setHeader); err != nil {
		return abortConnection(r.Context(), err)
	}
	return nil
}

// uploadRequest is the state of one bulk upload.
type uploadRequest struct {
	api     *API
	writer  *collectionWriter
	request *http.Request
	storing context.Context // ends when the server does
	control *http.ResponseController
	w       http.ResponseWriter
	header  http.Header
	answer  upload.Answer
	who     string    // whose processor time it takes
	looked  time.Time // whether the client is there
	asked   bool      // it was sent something to find out

	strict  bool            // fields that are not known are mistakes
	seen    map[string]bool // unknown fields that were told
	unknown []string        // of the line that is being read

	lines    int // answered
	reached  int // the number of the last line that was answered
	accepted int
	rejected int
	inARow   int    // that were rejected last
	cut      int    // stored, of which an expert reads the beginning
	unread   int    // stored, and hardly read by an expert
	last     uint64 // number of the last change
	bytes    int64

	closing bool // the problem that it ends with is in the answer

	deadlines sync.Mutex
	pace      overload.Pace
}

// storeBody reads and stores the lines of a body. It returns a problem if it ended before the body did; else nil. A
// goroutine reads the body meanwhile; it has ended when storeBody returns. What was stored before a problem stays.
func (u *uploadRequest) storeBody(body io.Reader) *schema.Problem {
	counted := &upload.CountedBody{
		Body:  body,
		Most:  u.api.options.Write.UploadBytes,
		Begin: u.beginReading,
		End:   u.endReading,
	}
	chunks, ended := make(chan []upload.Line), make(chan error, 1)
	wanted, unwanted := context.WithCancel(context.Background())
	defer unwanted() // also after a panic
	go func() {
		defer close(chunks)
		err := u.readChunks(wanted, counted, chunks)
		if wanted.Err() != nil {
			// The client may read nothing before it has sent everything.
			_, err = io.Copy(io.Discard, counted)
			if err == nil {
				err = io.EOF
			}
		}
		ended <- err
	}()
	problem := u.storeChunks(chunks, counted)
	unwanted()
	if problem != nil {
		if problem.Code == schema.ClientGone {
			u.stopReading(counted)
		} else if _, streaming := u.answer.(*upload.Stream); streaming && u.lines > 0 {
			_ = u.endWith(problem) // now; if it cannot be sent, finish finds out
		}
		for range chunks {
		}
	}
	err := <-ended
	if !errors.Is(err, io.EOF) {
		u.stopReading(counted) // net/http would wait for the rest
	}
	u.bytes = counted.Taken.Load()
	if problem == nil && !errors.Is(err, io.EOF) {
		problem = upload.BodyProblem(err, u.api.options.Write.UploadBytes)
	}
	return problem
}

// readChunks sends the lines of a body to chunks until wanted ends. It returns io.EOF at the body's end, else why it
// stopped.
func (u *uploadRequest) readChunks(wanted context.Context, body io.Reader, chunks chan<- []upload.Line) error {
	next, err := u.newReader(wanted, body)
	for err == nil {
		var chunk []upload.Line
		if refused := u.api.options.Admission.Read(wanted, u.who, func() { chunk, err = next() }); refused != nil {
			return refused
		}
		if len(chunk) == 0 {
			continue
		}
		select {
		case chunks <- chunk:
		case <-wanted.Done():
			err = wanted.Err()
		}
	}
	return err
}

// endWith writes p as the last line of the answer, in the first call only. A nil p does nothing. It returns the error
// of writing.
func (u *uploadRequest) endWith(p *schema.Problem) error {
	if p == nil || u.closing {
		return nil
	}
	u.closing = true
	if err := u.answer.Add(uploadProblem{u.completeProblem(p), u.reached + 1}); err != nil {
		return err
	}
	return u.answer.Flush()
}

// The most bytes of an answer that waits for the end of its body: answerFree, and answerPerByte for each byte that the
// client sent. A compressed body may have a thousand times as many lines as bytes.
const (
	answerFree    = 16 << 20
	answerPerByte = 64
)

// storeChunks stores chunks until the channel is closed, and then returns nil. It returns a problem if the client
// leaves, the answer becomes too large, too many lines in a row are rejected, or a group cannot be stored.
func (u *uploadRequest) storeChunks(chunks <-chan []upload.Line, body *upload.CountedBody) *schema.Problem {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		var chunk []upload.Line
		var more bool
		select {
		case chunk, more = <-chunks:
			if !more {
				return nil
			}
		case <-look.C:
			u.api.extendWriting(u.control) // the reader may wait for its budget
		}
		for {
			if u.clientLeft() {
				return schema.NewProblem(schema.ClientGone, "The client left before its upload was stored.")
			}
			if len(chunk) == 0 {
				break
			}
			n := min(len(chunk), upload.GroupLines)
			if most := min(u.api.options.Write.AnswerBytes, answerFree+answerPerByte*body.Taken.Load()); u.answer.Size() > most {
				return schema.NewProblem(
					"answer_too_large",
					fmt.Sprintf(
						"The answer has more than %d bytes, which wait until the body ends. What follows was not stored: send it by itself, or use ?stream=true and read while you send.",
						most,
					),
				)
			}
			if p := u.storeGroup(chunk[:n]); p != nil {
				return p
			}
			if u.inARow > mostRejected {
				return schema.NewProblem(
					"too_many_rejected",
					fmt.Sprintf(
						"The last %d lines were rejected, for reasons that the answers to them give. What follows was not looked at.",
						u.inARow,
					),
				)
			}
			chunk = chunk[n:]
		}
		if !more {
			continue // nothing came
		}
		u.extendDeadlines()
		if err := u.answer.Flush(); err != nil {
			return schema.NewProblem(schema.ClientGone, "The answer could not be sent.").Because(err)
		}
	}
}

// completeProblem returns a copy of a problem with the request's id, and with the server's base path before its type.
func (u *uploadRequest) completeProblem(p *schema.Problem) *schema.Problem {
	q := *p
	q.RequestID = front.ExchangeOf(u.request.Context()).RequestID
	q.Type = front.BasePath(u.request.Context()) + q.Type
	return &q
}

// setHeader sets the headers of the answer: type, backlog and, unless the answer is streamed, the numbers of accepted
// and rejected lines, which a streamed one does not know yet.
func (u *uploadRequest) setHeader(h http.Header) {
	h.Set("Content-Type", schema.TypeLines)
	h.Set("Cache-Control", "no-store")
	u.writer.noteBacklog(h)
	if _, streaming := u.answer.(*upload.Stream); !streaming {
		h.Set(acceptedHeader, strconv.Itoa(u.accepted))
		h.Set(rejectedHeader, strconv.Itoa(u.rejected))
	}
}

// noteCounts adds the upload's counts, and the problem that it ended with or nil, to the request's log line.
func (u *uploadRequest) noteCounts(p *schema.Problem) {
	x := front.ExchangeOf(u.request.Context())
	x.Note(
		slog.Int("accepted", u.accepted), slog.Int("rejected", u.rejected), slog.Int("truncated", u.cut),
		slog.Int("unread", u.unread), slog.Int64("body_bytes", u.bytes),
		slog.Int("backlog", u.writer.Backlog().Changes),
	)
	if p != nil {
		x.Code, x.Cause = p.Code, p.Cause
	}
}

// newReader returns a function that returns the next lines of an upload's body, and io.EOF at the end
// (upload.NewReader). The header says whether the body is compressed, and whether it has a passage a line or is a list.
// Reading stops when ctx ends. It fails if the body says that it is compressed and is not.
func (u *uploadRequest) newReader(ctx context.Context, body io.Reader) (next func() ([]upload.Line, error), err error) {
	return upload.NewReader(ctx, u.request.Header, body, u.api.options.Write.LineBytes, u.api.options.Write.UploadBytes)
}
