package handlers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// counting is a passage encoder without a model, whose vectors say how often a
// text has which bytes.
type counting struct{}

const countingDimension = 16

func (counting) Name() string        { return "small" }
func (counting) Dimension() int      { return countingDimension }
func (counting) Fingerprint() string { return "counting-1" }

func (counting) Late() bool { return false }

func (counting) Parts() func(string) []rank.Span { return nil }

func (counting) Owner() string { return "" }

func (counting) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	out := make([][]float32, len(passages))
	for i, p := range passages {
		out[i] = make([]float32, countingDimension)
		for _, b := range []byte(p.Text) {
			out[i][b%countingDimension]++
		}
	}
	return out, ctx.Err()
}

// TestUploadMemory sends more than the bound into a collection that encodes
// and indexes it meanwhile, and looks how much is in memory at the most until searches
// see the last line.
func TestUploadMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector memory is not what it is without")
	}
	for _, c := range []struct {
		what         string
		lines, words int   // of how many words each
		most         int64 // bytes of the heap in use
	}{
		{"large", 550, 16_000, 56 << 20},
		{"small", 120_000, 80, 44 << 20}, // half of what comes in
	} {
		t.Run(c.what, func(t *testing.T) {
			s := startWriting(t, writingOptions{
				live: folder.LiveOptions{
					Build: store.BuildOptions{
						Experts: []store.PassageEncoder{counting{}},
						Index:   store.Index{Kind: "flat"},
						Threads: 1,
					},
					FlushAfter: time.Second, FlushPassages: 2000, MaxPending: 4000,
				},
				timeouts: []ServeOptions{{ReadTimeout: time.Minute, WriteTimeout: time.Minute, DrainTimeout: 5 * time.Second}},
			})
			body, send := io.Pipe()
			sent := make(chan int64, 1)
			go func() {
				n, err := writeLines(send, c.lines, c.words)
				_ = send.CloseWithError(err)
				sent <- n
			}()
			heap := watchHeap()
			created, err := s.pourVisible(body)
			grown := heap()
			n := <-sent
			if err != nil || created != c.lines {
				t.Errorf("%d of %d lines were stored, %v", created, c.lines, err)
			}
			if b := s.live.Backlog(); b.Changes != 0 {
				t.Errorf("searches do not see %d changes yet", b.Changes)
			}
			t.Logf("%d lines, %d MB, came in; the heap grew by %d MB at the most", c.lines, n/1e6, grown>>20)
			if grown > c.most {
				t.Errorf("the heap grew by %d MB", grown>>20)
			}
		})
	}
}

// writeLines writes n passages, each words words of one long text, and returns
// their bytes.
func writeLines(to io.Writer, n, words int) (bytes int64, err error) {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 5, 20_000)
	var long strings.Builder
	var begins []int // of words
	for range 100_000 {
		begins = append(begins, long.Len())
		_, _ = fmt.Fprintf(&long, "word%04x ", zipf.Uint64())
	}
	out := bufio.NewWriter(to)
	for i := range n {
		first := rng.IntN(len(begins) - words)
		wrote, err := fmt.Fprintf(
			out, "{\"id\":\"%d\",\"text\":\"%s\"}\n", i, long.String()[begins[first]:begins[first+words]],
		)
		bytes += int64(wrote)
		if err != nil {
			return bytes, err
		}
	}
	return bytes, out.Flush()
}

// pourVisible uploads a body that does not tell its length, waits until
// searches see it, and counts the passages that were created. It keeps nothing
// of the answer.
func (s *writingServer) pourVisible(body io.Reader) (created int, err error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages?refresh=wait", body)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", schema.TypeLines)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"status":"created"`) {
			created++
		}
	}
	return created, lines.Err()
}

// watchHeap looks now and then at what the last collection of garbage found in use: unlike
// garbage, that does not depend on how much else the machine does. The function that it
// returns ends that, and tells by how many bytes it grew at the most.
func watchHeap() (grown func() int64) {
	live := func() int64 {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	before := live()
	stop, highest := make(chan struct{}), make(chan int64)
	go func() {
		most := before
		again := time.NewTicker(20 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				most = max(most, live())
			case <-stop:
				highest <- most
				return
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-highest - before
	}
}
