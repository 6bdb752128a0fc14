package judgments

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/questions"
)

func grade(n int) *int { return &n }

func of(question, passage string, g *int) Judgment {
	return Judgment{
		Question: question,
		Passage:  passage,
		Grade:    g,
		Judged:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// reopened reads a file again, of which no line may be damaged.
func reopened(t *testing.T, path string) *JudgmentFile {
	t.Helper()
	f, damaged, err := Open(disk.OS{}, path)
	if err != nil || len(damaged) > 0 {
		t.Fatal(damaged, err)
	}
	return f
}

// TestCutAnywhere: whatever a power cut leaves of the last line, what was taken before is there, and
// more can be put.
func TestCutAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	f := reopened(t, path)
	taken := []Judgment{
		of("who built the mill?", "mill#1", grade(1)),
		of("when \"did\"\n it burn?", "mill#2", grade(0)),
	}
	for _, j := range taken {
		if err := f.Put(j); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Put(of("and who paid?", "mill#3", grade(1))); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(before); n < len(whole); n++ {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		f := reopened(t, path)
		if !reflect.DeepEqual(f.All(), taken) {
			t.Fatalf("cut at %d: %+v", n, f.All())
		}
		if err := f.Put(of("x", "y", grade(1))); err != nil {
			t.Fatal(err)
		}
		if got := reopened(t, path).All(); len(got) != 3 || got[2].Question != "x" {
			t.Fatalf("cut at %d, and one more: %+v", n, got)
		}
	}
}

// TestLaterCounts: a judgment about the same takes the place of the one before, or takes it back, and
// the file does not keep what counts no more.
func TestLaterCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	f := reopened(t, path)
	for range 50 {
		for _, j := range []Judgment{
			of("q", "a", grade(1)), of("q", "b", grade(1)), of("q", "a", grade(0)), of("q", "b", nil),
		} {
			if err := f.Put(j); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []Judgment{of("q", "a", grade(0))}
	if got := f.All(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := reopened(t, path).All(); !reflect.DeepEqual(got, want) {
		t.Errorf("opened again: %+v", got)
	}
	if text, err := os.ReadFile(path); err != nil || bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("%s %v", text, err)
	}
}

// failing is a disk on which an append comes to half.
type failing struct {
	disk.OS
	fail bool
}

type half struct {
	disk.File
	d *failing
}

func (d *failing) OpenAppend(path string) (disk.File, error) {
	f, err := d.OS.OpenAppend(path)
	return half{f, d}, err
}

func (h half) Write(p []byte) (int, error) {
	if !h.d.fail {
		return h.File.Write(p)
	}
	n, _ := h.File.Write(p[:len(p)/2])
	return n, errors.New("no space left")
}

// TestFullDisk: what the disk does not take is not kept, and hinders nothing that comes later.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	d := &failing{}
	f, _, err := Open(d, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Put(of("q", "a", grade(1))); err != nil {
		t.Fatal(err)
	}
	d.fail = true
	if err := f.Put(of("q", "b", grade(1))); err == nil {
		t.Error("a full disk took a judgment")
	}
	d.fail = false
	if err := f.Put(of("q", "c", grade(1))); err != nil {
		t.Fatal(err)
	}
	want := []Judgment{of("q", "a", grade(1)), of("q", "c", grade(1))}
	if got := reopened(t, path).All(); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(f.All(), want) {
		t.Errorf("%+v, %+v", got, f.All())
	}
}

// TestDamagedLine: a line that is none is named, and the others count.
func TestDamagedLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	text := `{"question":"q","passage":"a","grade":1,"judged":"2026-01-02T03:04:05Z"}
nonsense
{"question":"q","passage":"b","grade":0,"judged":"2026-01-02T03:04:05Z"}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, damaged, err := Open(disk.OS{}, path)
	if err != nil || !reflect.DeepEqual(damaged, []int{2}) || len(f.All()) != 2 {
		t.Errorf("%v %v %+v", damaged, err, f.All())
	}
}

// TestExport: what is exported is read as questions to calibrate with, and questions of which no
// passage answers are left out there.
func TestExport(t *testing.T) {
	all := Questions([]Judgment{
		of("who built the mill?", "mill#2", grade(1)),
		of("who built the mill?", "mill#1", grade(1)),
		of("when did it burn?", "mill#1", grade(0)),
		of("who built the mill?", "rice", grade(0)),
	})
	if len(all) != 2 || Answered(all) != 1 {
		t.Fatalf("%+v", all)
	}
	var lines strings.Builder
	if err := WriteQuestions(&lines, all); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "questions.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	domains, err := questions.ReadDomains([]questions.QuestionFile{{Path: path}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := domains[0]
	if len(d.Questions) != 1 || d.LeftOut != 1 {
		t.Fatalf("%+v", d)
	}
	q := d.Questions[0]
	if q.Text != "who built the mill?" || !reflect.DeepEqual(q.PositiveIDs, []string{"mill#1", "mill#2"}) ||
		q.Judgements().Relevant() != 2 || q.Grades["rice"] != 0 || len(q.Grades) != 3 {
		t.Errorf("%+v", q)
	}
}

// TestWordsAndPassages: a judgment of words is one of its own. Words that answer show that their passage does, words
// that do not say nothing about it, and what is said of the passage itself counts more.
func TestWordsAndPassages(t *testing.T) {
	words := func(passage, answer string, g int) Judgment {
		j := of("how long?", passage, grade(g))
		j.Answer = answer
		return j
	}
	f := reopened(t, filepath.Join(t.TempDir(), FileName))
	for _, j := range []Judgment{
		words("a", "ten years", 1), words("a", "60 days", 0), words("b", "two years", 0), words("c", "a week", 1),
		of("how long?", "c", grade(0)), words("d", "a day", 0), of("how long?", "d", grade(1)),
	} {
		if err := f.Put(j); err != nil {
			t.Fatal(err)
		}
	}
	got := Questions(f.All())
	want := Question{
		ID: got[0].ID, Text: "how long?", PositiveIDs: []string{"a", "d"}, Grades: map[string]int{"a": 1, "c": 0, "d": 1},
		Answers: []string{"ten years", "a week"}, WrongAnswers: []string{"60 days", "two years", "a day"},
	}
	if len(f.All()) != 7 || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("%d judgments, %+v, want %+v", len(f.All()), got, want)
	}
}
