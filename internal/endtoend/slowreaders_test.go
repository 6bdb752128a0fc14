package endtoend

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/capacity"
)

// TestSlowReaders: three hundred callers ask for answers of five megabytes, fifteen
// times the memory that the server has for answers, and read nothing of them. It keeps
// to the memory that its configuration allows, and others are answered in time.
func TestSlowReaders(t *testing.T) {
	config := configs.Defaults()
	config.ReadOnly = true
	config.Limits.Memory = 96 << 20
	config.Limits.AnswerBytes = 6 << 20
	bound := capacity.MostMemory(config, int64(config.Limits.Memory), nil).Total()

	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(
			&lines,
			"{\"id\":\"large/%d\",\"text\":%q}\n",
			i,
			strings.Repeat(fmt.Sprintf("large words of text%d ", i), 250<<10/22),
		)
	}
	for i := range 20 {
		fmt.Fprintf(&lines, "{\"id\":\"small/%d\",\"text\":\"few bees in hive%d\"}\n", i, i)
	}
	s := newSite(
		t,
		fmt.Sprintf(
			"read_only: true\nlimits: {memory: %v, answer_bytes: %v}\n",
			config.Limits.Memory,
			config.Limits.AnswerBytes,
		),
		nil,
		"none",
		lines.String(),
	)
	p := s.serve("")
	resident := func() int64 {
		at, err := p.sample()
		if err != nil {
			t.Fatal(err)
		}
		return int64(at["resident MiB"] * (1 << 20))
	}
	before := resident()

	var callers sync.WaitGroup
	ended := make(chan struct{})
	body := `{"question":"large words","k":20,"timeout_ms":10000}`
	for range 300 {
		callers.Go(func() {
			c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			if _, err := fmt.Fprintf(c, "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
				t.Error(err)
			}
			<-ended
		})
	}
	most := int64(0)
	answered := 0
	given := func() bool {
		_, metrics, err := p.send(http.MethodGet, "/metrics", "")
		if err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(string(metrics), `conclave_answers_given_up_total{for="memory"} 0`)
	}
	for end := time.Now().Add(time.Minute); (answered < 20 || !given()) &&
		time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		status, answer, err := p.send(http.MethodPost, "/v1/search", `{"question":"few bees","k":5,"timeout_ms":10000}`)
		switch {
		case err != nil:
			t.Fatal(err)
		case status == http.StatusOK && strings.Count(string(answer), `"small/`) == 5:
			answered++
		case status != http.StatusTooManyRequests: // there is a place again soon
			t.Errorf("%d %.300s", status, answer)
		}
		most = max(most, resident())
	}
	close(ended)
	callers.Wait()
	if answered < 20 {
		t.Errorf("%d of 20 others were answered in a minute", answered)
	}
	if !given() {
		t.Error("nobody had to give way, so that this test asks for too little")
	}
	t.Logf("resident: %d MiB before, %d MiB at most, %d MiB more are allowed", before>>20, most>>20, bound>>20)
	if most > before+bound {
		t.Errorf("%d MiB were resident beside the %d before; %d are allowed", (most-before)>>20, before>>20, bound>>20)
	}
	p.stop()
}
