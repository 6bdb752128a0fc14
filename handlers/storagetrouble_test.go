package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/store"
)

// full is a disk that is full after some changes.
type full struct {
	Writer
	left  *atomic.Int64
	cause error
}

func (f full) Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	if f.left.Add(-int64(len(changes))) < 0 {
		return nil, fmt.Errorf("writing the log: %w", f.cause)
	}
	return f.Writer.Apply(ctx, changes)
}

// TestStorageFull: an upload ends where the disk is full, and says so; so does
// PUT; searches go on.
func TestStorageFull(t *testing.T) {
	var left atomic.Int64
	left.Store(5000)
	cause := error(syscall.ENOSPC)
	s := startWriting(t, writingOptions{wrap: func(w Writer) Writer { return full{w, &left, cause} }})
	var body strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&body, "{\"id\":\"p%d\",\"text\":\"zebra\"}\n", i)
	}
	_, lines, last := s.upload("/v1/passages", body.String())
	if last == nil || last.Code != "storage_full" || last.Status != len(lines)+1 || len(lines) == 0 {
		t.Fatalf("%d lines, then %+v", len(lines), last)
	}
	for _, l := range lines {
		if _, _, ok, _ := s.live.Passage(t.Context(), l.ID, anyRoom); !ok {
			t.Fatalf("%s was acknowledged and is not there", l.ID)
		}
	}
	if r, _, _ := s.upload("/v1/passages", body.String()); r.StatusCode != http.StatusInsufficientStorage ||
		r.problem(t).Code != "storage_full" {
		t.Errorf("an upload: %d %s", r.StatusCode, r.body)
	}
	for _, r := range []received{s.put("/v1/passages/x", `{"text":"x"}`),
		s.send(http.MethodDelete, "/v1/passages/seed0", "")} {
		if p := r.problem(t); r.StatusCode != http.StatusInsufficientStorage || p.Code != "storage_full" {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
	if found := s.found("beginning"); len(found) != 3 {
		t.Errorf("a search finds %v", found)
	}
	if r := s.send(http.MethodGet, "/v1/passages/p0", ""); r.StatusCode != http.StatusOK {
		t.Errorf("GET: %d", r.StatusCode)
	}
}

// TestLogBroken: any other trouble with the log is 503.
func TestLogBroken(t *testing.T) {
	var left atomic.Int64
	s := startWriting(
		t, writingOptions{wrap: func(w Writer) Writer { return full{w, &left, errors.New("an input/output error")} }},
	)
	r := s.put("/v1/passages/x", `{"text":"x"}`)
	if p := r.problem(t); r.StatusCode != http.StatusServiceUnavailable || p.Code != "not_written" ||
		r.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if !strings.Contains(s.log.String(), "an input/output error") {
		t.Error("the log does not say why")
	}
}

// reasoned is a change that a cluster refuses with a reason of its own, and one that it left unanswered.
type reasoned struct {
	why   string
	cause error
}

func (r reasoned) Error() string   { return "writing: " + r.cause.Error() }
func (r reasoned) Refusal() string { return r.why }
func (r reasoned) Unwrap() error   { return r.cause }

// TestRefusedWithReason: who writes is told why a store takes no change, in the words of the store,
// also where it did not answer in time, which is not the time of the request.
func TestRefusedWithReason(t *testing.T) {
	for _, c := range []struct {
		cause  error
		status int
		code   string
	}{
		{errors.New("status 403"), http.StatusServiceUnavailable, "not_written"},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, "not_written"},
		{syscall.ENOSPC, http.StatusInsufficientStorage, "storage_full"},
	} {
		var left atomic.Int64
		s := startWriting(t, writingOptions{wrap: func(w Writer) Writer {
			return full{w, &left, reasoned{"index [moon] blocked by: [read-only (api)]", c.cause}}
		}})
		for _, r := range []received{
			s.put("/v1/passages/x", `{"text":"x"}`), s.send(http.MethodDelete, "/v1/passages/seed0", ""),
		} {
			p := r.problem(t)
			if r.StatusCode != c.status || p.Code != c.code || !strings.Contains(p.Detail, "index [moon] blocked by: [read-only (api)].") {
				t.Errorf("%v: %d %s", c.cause, r.StatusCode, r.body)
			}
		}
	}
}

// TestQuotaExceeded: a change beyond a collection's quota says what it may have, has and would have.
func TestQuotaExceeded(t *testing.T) {
	var left atomic.Int64
	s := startWriting(t, writingOptions{wrap: func(w Writer) Writer {
		return full{w, &left, &store.QuotaError{Of: "passages", Most: 3, Has: 2, More: 2}}
	}})
	r := s.put("/v1/passages/x", `{"text":"x"}`)
	const says = "The collection may have 3 passages: it has 2, and this is 2 more."
	if p := r.problem(t); r.StatusCode != http.StatusForbidden || p.Code != "quota_exceeded" || p.Detail != says {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// stuck never shows what was written.
type stuck struct{ Writer }

// TestNotVisible: who waits for searches to see a change is told when they
// cannot, and that it is stored.
func TestNotVisible(t *testing.T) {
	s := startWriting(t, writingOptions{wrap: func(w Writer) Writer { return stuck{w} }})
	r := s.put("/v1/passages/x?refresh=wait", `{"text":"x"}`)
	if p := r.problem(t); r.StatusCode != http.StatusServiceUnavailable || p.Code != "not_visible" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if _, lines, last := s.upload("/v1/passages?refresh=wait", `{"id":"y","text":"x"}`); len(lines) != 1 || last == nil ||
		last.Code != "not_visible" {
		t.Errorf("%v, then %+v", lines, last)
	}
	if r := s.send(http.MethodGet, "/readyz", ""); r.StatusCode != http.StatusOK ||
		!strings.Contains(string(r.body), "cannot be ") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// invisible never shows what was written, and has no trouble that it knows of.
type invisible struct{ Writer }

func (invisible) Wait(ctx context.Context, _ uint64) error { <-ctx.Done(); return ctx.Err() }
func (invisible) MostWait() time.Duration                  { return 30 * time.Millisecond }

// TestNotVisibleInTime: where nobody can say that something is wrong, waiting for searches ends all the same, the
// answer says that the change is stored, and it is.
func TestNotVisibleInTime(t *testing.T) {
	s := startWriting(t, writingOptions{wrap: func(w Writer) Writer { return invisible{w} }})
	r := s.put("/v1/passages/x?refresh=wait", `{"text":"x"}`)
	if p := r.problem(t); r.StatusCode != http.StatusServiceUnavailable || p.Code != "not_visible" ||
		!strings.Contains(p.Detail, "is stored and safe") || !strings.Contains(p.Detail, "30ms") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if r := s.send(http.MethodGet, "/v1/passages/x", ""); r.StatusCode != http.StatusOK {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if _, lines, last := s.upload("/v1/passages?refresh=wait", `{"id":"y","text":"x"}`); len(lines) != 1 || last == nil ||
		last.Code != "not_visible" {
		t.Errorf("%v, then %+v", lines, last)
	}
}

// stopped is a collection that writes nothing any more.
type stopped struct {
	Writer
	why error
}

func (s stopped) Backlog() store.Backlog { return store.Backlog{Trouble: s.why} }

func (s stopped) Apply(context.Context, []store.Change) ([]store.ChangeResult, error) {
	return nil, s.why
}

// TestWritingStopped: a collection that does not know what it published, or is
// not written by one process alone, refuses changes and says why in /readyz.
func TestWritingStopped(t *testing.T) {
	for why, say := range map[error]string{store.ErrUnsettled: "would survive a power cut", store.ErrOtherWriter: "another writer"} {
		s := startWriting(
			t, writingOptions{wrap: func(w Writer) Writer { return stopped{w, fmt.Errorf("publishing: %w", why)} }},
		)
		if r := s.put("/v1/passages/x", `{"text":"x"}`); r.StatusCode != http.StatusServiceUnavailable ||
			r.problem(t).Code != "not_written" {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
		if r := s.send(http.MethodGet, "/readyz", ""); r.StatusCode != http.StatusOK ||
			!strings.Contains(string(r.body), "nothing can be written") ||
			!strings.Contains(string(r.body), say) {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
		if found := s.found("beginning"); len(found) != 3 {
			t.Errorf("a search finds %v", found)
		}
	}
}
