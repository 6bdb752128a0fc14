package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/shipped/demo"
)

// BenchmarkQuestionsBesideIngest measures how long questions take while passages
// are being encoded, beside how long they take otherwise, in turns: one caller,
// who asks every 30 ms what was never asked before, over HTTP, with the base
// encoder. What is reported are percentiles in milliseconds and their ratios.
//
//	go test ./internal/endtoend -run '^$' -bench BesideIngest -benchtime 3x
func BenchmarkQuestionsBesideIngest(b *testing.B) {
	bundle := testenv.Base(b, "fp32")
	var lines strings.Builder
	var texts []string
	for _, domain := range demo.Domains() {
		data, err := demo.FS.ReadFile("passages/" + domain + ".jsonl")
		if err != nil {
			b.Fatal(err)
		}
		lines.Write(data)
		for line := range strings.Lines(string(data)) {
			var p struct{ Text string }
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				b.Fatal(err)
			}
			texts = append(texts, p.Text)
		}
	}
	s := newSite(b, "log: {level: warn}\nexperts: [{name: base, bundle: "+bundle+"}]\n", nil, "base", lines.String())
	p := s.serve("")
	asked := 0
	const phase = 6 * time.Second
	ask := func() (took []time.Duration) {
		for end := time.Now().Add(phase); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
			asked++
			body := fmt.Sprintf(
				`{"question":"how many of %d are there in number %d","k":10,"timeout_ms":10000}`,
				asked,
				asked*7919,
			)
			began := time.Now()
			p.get(http.MethodPost, "/v1/search", body, http.StatusOK, nil)
			took = append(took, time.Since(began))
		}
		return took
	}
	var quiet, busy []time.Duration
	ask() // to be warm
	for round := 0; b.Loop(); round++ {
		quiet = append(quiet, ask()...)
		var upload strings.Builder
		for i := range 2000 {
			text, err := json.Marshal(fmt.Sprintf("%s Number %d.", texts[i%len(texts)], i))
			if err != nil {
				b.Fatal(err)
			}
			fmt.Fprintf(&upload, "{\"id\":\"%d/%d\",\"text\":%s}\n", round, i, text)
		}
		if status, answer, err := p.send(http.MethodPost, "/v1/passages", upload.String()); err != nil ||
			status != http.StatusOK {
			b.Fatalf("%d %.300s %v", status, answer, err)
		}
		busy = append(busy, ask()...)
		p.visible()
	}
	p.stop()
	slices.Sort(quiet)
	slices.Sort(busy)
	for _, percent := range []int{50, 95, 99} {
		at := func(all []time.Duration) float64 { return float64(all[len(all)*percent/100].Microseconds()) / 1000 }
		b.ReportMetric(at(quiet), fmt.Sprintf("quiet-p%d-ms", percent))
		b.ReportMetric(at(busy), fmt.Sprintf("busy-p%d-ms", percent))
		b.ReportMetric(at(busy)/at(quiet), fmt.Sprintf("ratio-p%d", percent))
	}
}
