package endpoints

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestProbeSaysTheServersMessage: the texts of a probe are no secret, the key is.
func TestProbeSaysTheServersMessage(t *testing.T) {
	f := newFake(t)
	f.before = answering(400, `{"error":{"message":"model m was retired, said to `+testKey+`"}}`)
	_, err := open(t, f.options()).Probe(t.Context())
	if err == nil || !strings.Contains(err.Error(), "model m was retired, said to …") {
		t.Error(err)
	}
}

// TestProbe: a model is known again, also with noise, and another one is told from it.
func TestProbe(t *testing.T) {
	f := newFake(t)
	o := f.options()
	e := open(t, o)
	first, err := e.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first.Unit || first.Dimension != 8 || e.Dimension() != 8 {
		t.Errorf("%+v", first)
	}
	kept := o.FingerprintOf(first)
	read, ok := ParseFingerprint(kept.String())
	if !ok || !reflect.DeepEqual(read, kept) {
		t.Errorf("%v: %+v, want %+v", ok, read, kept)
	}
	if _, ok := ParseFingerprint("668958aa41c7"); ok {
		t.Error("the fingerprint of a bundle is taken for one of a model behind an interface")
	}
	noisy := make([][]float32, len(probeTexts))
	for i, text := range probeTexts {
		noisy[i] = vectorOf("a", text)
		for n := range noisy[i] {
			noisy[i][n] *= 1 + .01*float32(n%3)
		}
	}
	if reason := read.Differs(o.FingerprintOf(newProbe(noisy))); reason != "" {
		t.Error(reason)
	}
	other := o
	other.Passage.Prefix = "passage: "
	if reason := read.Differs(other.FingerprintOf(first)); !strings.Contains(reason, "prefixes") {
		t.Errorf("%q", reason)
	}
	f.set(func() { f.model = "b" })
	second, err := e.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if reason := read.Differs(o.FingerprintOf(second)); !strings.Contains(reason, "cosine") {
		t.Errorf("%q", reason)
	}
}

// TestAwaitProbe has a server that is still loading: the probe waits for it, and not for a refusal.
func TestAwaitProbe(t *testing.T) {
	f := newFake(t)
	f.before = func(n int, _ []string, w http.ResponseWriter) bool {
		return n <= 3 && answering(503, "")(n, nil, w)
	}
	if p, err := open(t, f.options()).AwaitProbe(t.Context()); err != nil || p.Dimension != 8 {
		t.Error(p, err)
	}
	f.set(func() { f.before = answering(401, "") })
	if _, err := open(t, f.options()).AwaitProbe(t.Context()); err == nil || !strings.Contains(err.Error(), "key") {
		t.Error(err)
	}
	if requests, _ := f.seen(); requests != 5 {
		t.Errorf("%d requests, want 5", requests)
	}
}

// TestHangingServer asks a server that does not answer many questions at once: few requests are open, and soon none is
// made any more.
func TestHangingServer(t *testing.T) {
	f := newFake(t)
	end := make(chan struct{})
	f.before = func(int, []string, http.ResponseWriter) bool {
		<-end
		return false
	}
	o := f.options()
	o.QuestionTime = 20 * time.Millisecond
	e := open(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	errs := make(chan error)
	for i := range 500 {
		go func() {
			_, err := e.Question(ctx, fmt.Sprint("question ", i))
			errs <- err
		}()
	}
	for range 500 {
		if err := <-errs; err == nil {
			t.Error("a server that hangs answered")
		}
	}
	if _, err := e.Question(ctx, "one more"); err == nil || !strings.Contains(err.Error(), "failed lately") {
		t.Error(err)
	}
	if requests, _ := f.seen(); requests > mostRequests {
		t.Errorf("%d requests were open, want %d at most", requests, mostRequests)
	}
	close(end)
}

// TestStrangeAnswersEnd: an answer that is not understood is asked for a few times, and not for minutes.
func TestStrangeAnswersEnd(t *testing.T) {
	f := newFake(t)
	f.before = answering(200, `{"data":[{"index":0,"embedding":[1,null]}]}`)
	if _, err := open(t, f.options()).Passages(t.Context(), []string{"one"}); err == nil {
		t.Error("null is taken for a number")
	}
	if requests, _ := f.seen(); requests != mostStrange {
		t.Errorf("%d requests, want %d", requests, mostStrange)
	}
}

// TestOldProbe: a question brings another probe with it when the newest is too old.
func TestOldProbe(t *testing.T) {
	f := newFake(t)
	o := f.options()
	o.ProbeAge = time.Nanosecond
	e := open(t, o)
	first, err := e.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.set(func() { f.model = "b" })
	if _, err := e.Question(t.Context(), "why"); err != nil {
		t.Fatal(err)
	}
	if alike := e.Probed().Alike(first); alike >= LeastAlike {
		t.Errorf("after another model answered, the probe has a cosine of %v to that before", alike)
	}
	if requests, _ := f.seen(); requests != 2 {
		t.Errorf("%d requests, want 2", requests)
	}
}

// TestSlowServer has a server that never answers more than two texts at a time: requests become smaller.
func TestSlowServer(t *testing.T) {
	f := newFake(t)
	end := make(chan struct{})
	f.before = func(_ int, texts []string, _ http.ResponseWriter) bool {
		if len(texts) > 2 {
			<-end
		}
		return false
	}
	o := f.options()
	o.Server.Timeout = 100 * time.Millisecond
	texts := make([]string, 30)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	e := open(t, o)
	got, err := e.Passages(t.Context(), texts)
	close(end)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if !reflect.DeepEqual(got[i], vectorOf("a", text)) {
			t.Errorf("%s has the vector of another text", text)
		}
	}
	if e.most.Load() > 2 {
		t.Errorf("requests have up to %d texts still", e.most.Load())
	}
}
