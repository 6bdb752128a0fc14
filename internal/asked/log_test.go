package asked

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/disk"
)

// open opens a log in a folder, whose clock stands at *now.
func open(t *testing.T, d disk.Disk, folder string, most int, now *time.Time) *Log {
	t.Helper()
	l, err := Open(d, filepath.Join(folder, UnansweredFile), most, 30*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	l.now = func() time.Time { return *now }
	return l
}

func (l *Log) texts() (texts []string) {
	for _, q := range l.All() {
		texts = append(texts, fmt.Sprint(q.Asked, " ", q.Question))
	}
	return texts
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLog: the same question in other letters is counted, an answered one goes, one that is asked seldom makes room, an
// old one goes, and all is there after the file was read again.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	l := open(t, disk.OS{}, dir, 3, &now)
	l.Add(Question{Question: "How deep is the lock?", Verdict: "not_found"})
	now = now.Add(time.Hour)
	l.Add(Question{Question: "how deep is  the LOCK", Verdict: "doubtful", Nearest: "locks#1", Filtered: true})
	l.Add(Question{Question: "?!", Verdict: "not_found"})
	l.Add(Question{Question: "Who pays?", Verdict: "not_found"})
	now = now.Add(time.Hour)
	l.Add(Question{Question: "When?", Verdict: "not_found"})
	equal(t, l.texts(), "2 how deep is  the LOCK", "1 When?", "1 Who pays?")
	q := l.All()[0]
	if q.Verdict != "doubtful" || !q.Filtered || q.Nearest != "locks#1" || q.Last.Sub(q.First) != time.Hour {
		t.Errorf("%+v", q)
	}

	now = now.Add(time.Hour)
	l.Add(Question{Question: "Where?", Verdict: "not_found"}) // "Who pays?" has to go
	equal(t, l.texts(), "2 how deep is  the LOCK", "1 Where?", "1 When?")
	l.Forget("WHEN", "")
	l.Forget("never asked", "")
	equal(t, l.texts(), "2 how deep is  the LOCK", "1 Where?")
	if err := l.Write(); err != nil {
		t.Fatal(err)
	}
	l = open(t, disk.OS{}, dir, 3, &now)
	equal(t, l.texts(), "2 how deep is  the LOCK", "1 Where?")
	equal(t, open(t, disk.OS{}, dir, 1, &now).texts(), "2 how deep is  the LOCK")

	now = now.Add(30*24*time.Hour - time.Minute)
	l.Add(Question{Question: "how deep is the lock?", Verdict: "not_found"})
	now = now.Add(2 * time.Minute)
	equal(t, l.texts(), "3 how deep is the lock?")
}

// TestRemove: what Remove has removed is in no file, and nothing is removed where the file cannot be written.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	full := &fullDisk{}
	l := open(t, full, dir, 9, &now)
	for _, text := range []string{"one", "two", "three", "three"} {
		l.Add(Question{Question: text, Verdict: "not_found"})
	}
	if err := l.Write(); err != nil {
		t.Fatal(err)
	}
	full.full = true
	if n, err := l.Remove(""); n != 0 || !errors.Is(err, errFull) {
		t.Errorf("%d %v", n, err)
	}
	equal(t, l.texts(), "2 three", "1 one", "1 two")
	full.full = false
	if n, err := l.Remove("One?"); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	equal(t, open(t, full, dir, 9, &now).texts(), "2 three", "1 two")
	if n, err := l.Remove(""); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, UnansweredFile))
	if err != nil || strings.Contains(string(text), "three") {
		t.Errorf("%s %v", text, err)
	}
}

// TestOpenRefuses: a file that is not a log is named, and stays.
func TestOpenRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), UnansweredFile)
	if err := os.WriteFile(path, []byte(`[{"question":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(disk.OS{}, path, 3, time.Hour); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

// TestLongQuestions: a text of any length takes 503 bytes, is valid UTF-8, and is found by its whole text.
func TestLongQuestions(t *testing.T) {
	now := time.Now()
	l := open(t, disk.OS{}, t.TempDir(), 3, &now)
	long := strings.Repeat("häuser ", 2000)
	for range 2 {
		l.Add(Question{Question: long, Verdict: "not_found"})
	}
	all := l.All()
	if len(all) != 1 || all[0].Asked != 2 || len(all[0].Question) > mostBytes+len("…") ||
		strings.ToValidUTF8(all[0].Question, "?") != all[0].Question {
		t.Fatalf("%+v", all)
	}
	if n, err := l.Remove(all[0].Question); n != 1 || err != nil {
		t.Error(n, err)
	}
	l.Add(Question{Question: long, Verdict: "not_found"})
	l.Forget(long, "")
	equal(t, l.texts())
}

var errFull = errors.New("no space left")

// fullDisk is a disk that can be full.
type fullDisk struct {
	disk.OS
	full bool
}

func (d *fullDisk) CreateTemp(folder, pattern string) (disk.File, error) {
	if d.full {
		return nil, errFull
	}
	return d.OS.CreateTemp(folder, pattern)
}

func (d *fullDisk) CreateFile(path string) (disk.File, error) {
	if d.full {
		return nil, errFull
	}
	return d.OS.CreateFile(path)
}

func (d *fullDisk) Create(path string) (disk.File, error) {
	if d.full {
		return nil, errFull
	}
	return d.OS.Create(path)
}

// TestCompletions: what enough others have asked is offered, to those with the same restriction alone, also after the
// file was read again; one who asks twice counts once.
func TestCompletions(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	l := open(t, disk.OS{}, dir, 10, &now)
	ask := func(who, restriction, question string) {
		l.Add(Question{Question: question, Restriction: restriction, Askers: []string{AskerMark(who, question)}})
	}
	for _, who := range []string{"a", "b", "c"} {
		ask(who, "", "How deep is the lock?")
		ask(who, `{"tags_all":["x"]}`, "How deep is the secret?")
	}
	ask("a", "", "how deep is the LOCK")
	ask("a", "", "What is deep?")
	ask("b", "", "What is deep")
	for range 5 {
		ask("a", "", "Is my salary deep enough?")
	}
	if err := l.Write(); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*Log{l, open(t, disk.OS{}, dir, 10, &now)} {
		for _, c := range []struct {
			typed, restriction string
			askers             int
			want               []string
		}{
			{"how D", "", 2, []string{"how deep is the LOCK"}},
			{"dee", "", 2, []string{"how deep is the LOCK", "What is deep"}},
			{"what", "", 2, []string{"What is deep"}},
			{"what", "", 3, nil},
			{"dee", `{"tags_all":["x"]}`, 2, []string{"How deep is the secret?"}},
			{"salary", "", 2, nil}, {"is my", "", 2, nil}, {"eep", "", 2, nil}, {"?", "", 2, nil},
		} {
			var got []string
			for _, q := range x.Completions(c.typed, c.restriction, c.askers, 5) {
				got = append(got, q.Question)
			}
			equal(t, got, c.want...)
		}
	}
	if n, err := l.Remove("HOW deep is the secret"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	l.Forget("What is deep?", "")
	equal(t, l.texts(), "5 Is my salary deep enough?", "4 how deep is the LOCK")
}
