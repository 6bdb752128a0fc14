package endtoend

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// zipped makes an archive of files.
func zipped(t testing.TB, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write([]byte(text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostileFiles returns files that took a server down, or kept it busy for minutes, by name, and those of ../shared
// where that is there.
func hostileFiles(t testing.TB) map[string]string {
	t.Helper()
	cells := "<text:p>x</text:p>"
	for range 3 {
		cells = `<table:table><table:table-row table:number-rows-repeated="100"><table:table-cell ` +
			`table:number-columns-repeated="100">` + cells + `</table:table-cell></table:table-row></table:table>`
	}
	nested := zipped(t, map[string]string{
		"mimetype":    "application/vnd.oasis.opendocument.text",
		"content.xml": `<a xmlns:table="t" xmlns:text="u">` + cells + `</a>`,
	})
	var mail strings.Builder
	mail.WriteString("From: a\nSubject: b\nContent-Type: multipart/mixed; boundary=b0\n\n")
	for i := range 500 {
		fmt.Fprintf(&mail, "--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n", i, i+1)
	}
	long := "# " + strings.Repeat("long ", 40_000) + "\n\n"
	files := map[string]string{
		"cells.odt": nested,
		"columns.md": strings.Repeat("|a", 4000) + "|\n" + strings.Repeat("|-", 4000) + "|\n" +
			strings.Repeat("|b\n", 4000),
		"brackets.md":  strings.Repeat("[a](", 30_000),
		"heading.md":   long + strings.Repeat("a paragraph\n\n", 40_000),
		"sections.md":  strings.Repeat("# a\n\nb\n\n", 100_000),
		"hyphens.txt":  strings.Repeat("wordxx-\n", 30_000),
		"parts.eml":    mail.String(),
		"cells.zip":    zipped(t, map[string]string{"a.odt": nested, "b.zip": zipped(t, map[string]string{"c.odt": nested})}),
		"letters.zip":  zipped(t, map[string]string{"letters.txt": strings.Repeat("x", 8<<20)}),
		"nothing.pdf":  "%PDF-1.7\ntrailer<</Root 1 0 R>>",
		"harmless.txt": "An old lighthouse.",
	}
	shared, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "cases", "hostile", "*"))
	for _, at := range shared {
		data, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(at)] = string(data)
	}
	return files
}

// uploadFile sends a file with the owner's key, and returns the status of the answer.
func (p *process) uploadFile(id, name, data string) (int, error) {
	if strings.HasSuffix(name, ".zip") {
		status, _, err := p.ask(http.MethodPost, "/v1/documents?prefix="+id+"/", ownerKey, data, "Content-Type", "application/zip")
		return status, err
	}
	status, _, err := p.ask(http.MethodPut, "/v1/documents/"+id+"-"+name, ownerKey, data,
		"Content-Type", "application/octet-stream")
	return status, err
}

// memory returns how much memory of their own the server and the processes that it started have, in bytes.
func (p *process) memory() (bytes int64) {
	pids := []string{strconv.Itoa(p.cmd.Process.Pid)}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, at := range all {
		text, _ := os.ReadFile(at)
		_, behind, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(behind); len(fields) > 1 && fields[1] == pids[0] {
			pids = append(pids, strings.Split(at, "/")[2])
		}
	}
	for _, pid := range pids {
		text, _ := os.ReadFile("/proc/" + pid + "/status")
		for line := range strings.SplitSeq(string(text), "\n") {
			if kilobytes, ok := strings.CutPrefix(line, "RssAnon:"); ok {
				n, _ := strconv.ParseInt(strings.Fields(kilobytes)[0], 10, 64)
				bytes += n << 10
			}
		}
	}
	return bytes
}

// TestHostileFiles uploads files that took servers down to one with six gigabytes of address space: each is
// answered, as a document or as a job, with a reason where it is not read, and the server goes on.
func TestHostileFiles(t *testing.T) {
	s := newSite(t, attackKeys, nil, "none", attackLines())
	p := s.serve("ulimit -v 6000000;", "--log-level", "warn")
	var jobs []string
	files := hostileFiles(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		status, err := p.uploadFile("u", name, files[name])
		if err != nil || !slices.Contains([]int{200, 201, 202, 413, 415, 422}, status) {
			t.Errorf("%s is answered with %d, %v", name, status, err)
		}
		if status == http.StatusAccepted {
			jobs = append(jobs, strconv.Itoa(len(jobs)+1))
		}
	}
	for _, job := range jobs {
		var got struct{ State, Error string }
		for deadline := time.Now().Add(2 * time.Minute); got.State != "done"; time.Sleep(20 * time.Millisecond) {
			_, answer, err := p.ask(http.MethodGet, "/v1/jobs/"+job, ownerKey, "")
			if err != nil || json.Unmarshal(answer, &got) != nil || got.State == "failed" || time.Now().After(deadline) {
				t.Fatalf("job %s is %s, %v", job, answer, err)
			}
		}
	}
	if status, answer, err := p.ask(http.MethodGet, "/v1/search?q=lighthouse", searcherKey, ""); status != 200 {
		t.Errorf("a search afterwards: %d %s, %v", status, answer, err)
	}
	p.stop()
}

// BenchmarkUploadsBesideSearches measures plain searches of one key alone, and while 32 callers of another key
// upload hostile files: as a ratio of their medians, with the memory that the server and its readers then have
// beyond what they had before.
func BenchmarkUploadsBesideSearches(b *testing.B) {
	s := newSite(b, "limits: {memory: 1GiB}\n"+attackKeys, nil, "none", attackLines())
	p := s.serve("", "--log-level", "error")
	median := func(within time.Duration) (time.Duration, int) {
		var took []time.Duration
		failed := 0
		for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			from := time.Now()
			if status, _, err := p.ask(http.MethodGet, "/v1/search?q=lighthouse", searcherKey, ""); err != nil || status != 200 {
				failed++
			}
			took = append(took, time.Since(from))
		}
		slices.Sort(took)
		return took[len(took)/2], failed
	}
	const within = 20 * time.Second
	files := hostileFiles(b)
	names := slices.Sorted(maps.Keys(files))
	for b.Loop() {
		median(within / 10)
		alone, _ := median(within / 2)
		before := p.memory()
		var stop atomic.Bool
		var callers sync.WaitGroup
		var uploads, most atomic.Int64
		for caller := range 32 {
			callers.Go(func() {
				for i := caller; !stop.Load(); i++ {
					name := names[i%len(names)]
					if status, _ := p.uploadFile(fmt.Sprint("u", caller), name, files[name]); status == http.StatusTooManyRequests {
						time.Sleep(100 * time.Millisecond)
						continue
					}
					uploads.Add(1)
				}
			})
		}
		callers.Go(func() {
			for ; !stop.Load(); time.Sleep(50 * time.Millisecond) {
				most.Store(max(most.Load(), p.memory()-before))
			}
		})
		beside, failed := median(within)
		stop.Store(true)
		callers.Wait()
		b.ReportMetric(float64(alone.Microseconds())/1000, "ms/alone")
		b.ReportMetric(float64(beside)/float64(alone), "x/beside")
		b.ReportMetric(float64(failed), "failed")
		b.ReportMetric(float64(most.Load()>>20), "MiB/more")
		b.ReportMetric(float64(uploads.Load()), "uploads")
	}
	p.stop()
}
