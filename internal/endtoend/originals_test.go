package endtoend

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOriginalsKilled kills a server under uploads of documents at random instants. The next server has each
// acknowledged document with its passage and its file, whose SHA-256 is right, and soon no copies of files without a
// document.
func TestOriginalsKilled(t *testing.T) {
	kills := 5
	if n, err := strconv.Atoi(os.Getenv("CONCLAVE_TEST_KILLS")); err == nil {
		kills = n
	}
	const seed = 20261128
	rng := rand.New(rand.NewPCG(seed, 1))
	s := newSite(t, "ingest: {flush_after: 3ms}\nlog: {level: error}\n", nil, "none", `{"id":"first","text":"a lighthouse"}`+"\n")
	l := &ledger{acknowledged: map[string]int{}, begun: map[string][]int{}}
	undecided := 0
	for kill := 0; ; kill++ {
		p := s.serve("")
		checkOriginals(t, kill, p, l)
		if kill == kills {
			p.stop()
			break
		}
		failed := make(chan error, 2)
		for writer := range 2 {
			go func() { failed <- documentPutter(p, l, writer, uint64(10*kill+writer)) }()
		}
		l.await(t, 10*(kill+1)) // readers of files take a while to start
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		p.kill()
		for range 2 {
			if err := <-failed; err != errStopped {
				t.Fatalf("kill %d: %v\n%s", kill, err, p.log.String())
			}
		}
		if !p.killed() {
			t.Fatalf("kill %d: the server ended by itself: %v\n%s", kill, p.cmd.ProcessState, p.log.String())
		}
		undecided += len(l.begun)
		s.command("verify", "--collection", "c")
	}
	t.Logf("%d kills (seed %d): %d changes acknowledged, %d undecided", kills, seed, l.answers, undecided)
	if l.answers < 5*kills {
		t.Errorf("only %d changes were acknowledged", l.answers)
	}
}

// await waits until so many changes were acknowledged.
func (l *ledger) await(t *testing.T, answers int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		enough := l.answers >= answers
		l.mu.Unlock()
		if enough {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d changes were not acknowledged within a minute", answers)
		}
	}
}

// documentPutter puts and deletes documents whose ids begin with the number of the writer, until the server ends.
func documentPutter(p *process, l *ledger, writer int, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 2))
	for {
		id := fmt.Sprintf("w%d/%d.txt", writer, rng.IntN(12))
		n := 1 + rng.IntN(1_000_000)
		method := http.MethodPut
		body := textOf(n)
		if rng.IntN(4) == 0 {
			n = 0
			method = http.MethodDelete
			body = ""
		}
		request, err := http.NewRequest(method, p.url+"/v1/documents/"+url.PathEscape(id), strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "text/plain")
		l.begin(id, n)
		response, err := p.client.Do(request)
		if err != nil {
			return errStopped
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		switch {
		case err != nil:
			return errStopped
		case response.StatusCode/100 == 2, response.StatusCode == http.StatusNotFound && n == 0:
			l.done(id, n)
		default:
			return fmt.Errorf("%s %s: %d %s", method, id, response.StatusCode, answer)
		}
	}
}

// checkOriginals compares the documents, their passages and their files with what was acknowledged before a kill, and
// waits until no other copies of files are left.
func checkOriginals(t *testing.T, kill int, p *process, l *ledger) {
	t.Helper()
	wanted := map[string]bool{}
	for _, id := range l.ids() {
		path := url.PathEscape(id)
		status, file, err := p.send(http.MethodGet, "/v1/originals/"+path, "")
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		is := 0
		if status == http.StatusOK {
			is = numberOf(string(file))
		} else if status != http.StatusNotFound {
			t.Fatalf("kill %d: %s: %d %s", kill, id, status, file)
		}
		if err := l.settle(id, is); err != nil {
			t.Errorf("kill %d: the file of %v", kill, err)
		}
		status, answer, err := p.send(http.MethodGet, "/v1/documents/"+path+"?text=true", "")
		var document struct {
			SHA256 string
			Text   string
		}
		if err == nil && status == http.StatusOK {
			err = json.Unmarshal(answer, &document)
		}
		if err != nil || (status == http.StatusOK) != (is != 0) {
			t.Errorf("kill %d: %s is %d, and the document answers %d, %v", kill, id, is, status, err)
			continue
		}
		if is == 0 {
			continue
		}
		hash := sha256.Sum256(file)
		sum := hex.EncodeToString(hash[:])
		if document.SHA256 != sum || document.Text != string(file) {
			t.Errorf("kill %d: %s has the text %q and SHA-256 %s, its file %q", kill, id, document.Text, document.SHA256, file)
		}
		wanted[sum] = true
	}
	folder := filepath.Join(p.dir, "c", "originals")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		entries, err := os.ReadDir(folder)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		left := map[string]bool{}
		for _, e := range entries {
			left[e.Name()] = true
		}
		others := len(left)
		for sum := range wanted {
			if !left[sum] {
				t.Fatalf("kill %d: the file %s is gone", kill, sum)
			}
			others--
		}
		if others == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("kill %d: %d copies of files without a document are left", kill, others)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}
