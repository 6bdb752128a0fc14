package evaluation

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/questions"
	"example.org/conclave/search/reply"
)

// Forms of a run.
const (
	RunTREC = "trec" // question, "Q0", passage, rank, score, name of the run
	RunDPR  = "dpr"  // DPR's retrieval result, json, with MUF's "confidence"
)

// RunForms returns the names of all forms of run files.
func RunForms() []string { return []string{RunTREC, RunDPR} }

// Runs is a folder of run files: FOLDER/DOMAIN/METHOD.trec and .dpr.json.
type Runs struct {
	Folder string
	Forms  []string // of RunForms
	Of     []string // names of methods; nil: of all
}

// runFile is a run file that is being written, under a temporary name until it is complete.
type runFile struct {
	method int
	form   string
	path   string
	file   *disk.Replacement
	out    *bufio.Writer
	first  bool // nothing has been written yet
	name   string
}

// runWriter writes the rankings of one domain.
type runWriter struct{ files []*runFile }

// runFiles returns the run files of a domain, not opened: one for each method in each form.
func (r *Runs) runFiles(domain string, methods []Method) []*runFile {
	var out []*runFile
	for i, m := range methods {
		if m.Kind == KindOracle || r.Of != nil && !slices.Contains(r.Of, m.Name) {
			continue
		}
		for _, form := range r.Forms {
			name := fileName(m.Name)
			ending := map[string]string{RunTREC: ".trec", RunDPR: ".dpr.json"}[form]
			out = append(
				out,
				&runFile{
					method: i,
					form:   form,
					name:   name,
					first:  true,
					path:   filepath.Join(r.Folder, fileName(domain), name+ending),
				},
			)
		}
	}
	return out
}

// checkRuns returns an error if a form or method is unknown, or if two runs would have the same file.
func (r *Runs) checkRuns(domains []questions.Domain, methods []Method) error {
	for _, form := range r.Forms {
		if !slices.Contains(RunForms(), form) {
			return fmt.Errorf("there is no form %q of a run: %s are known", form, strings.Join(RunForms(), ", "))
		}
	}
	for _, name := range r.Of {
		if !slices.ContainsFunc(methods, func(m Method) bool { return m.Name == name }) {
			return fmt.Errorf("a run of method %q is asked for, which is not measured", name)
		}
	}
	seen := map[string]bool{}
	for _, d := range domains {
		for _, f := range r.runFiles(d.Name, methods) {
			if seen[f.path] {
				return fmt.Errorf(
					"two runs would be written to %s: give the methods or domains names that differ in letters and digits",
					f.path,
				)
			}
			seen[f.path] = true
		}
	}
	return nil
}

// areComplete reports whether the run files of a domain all exist.
func (r *Runs) areComplete(domain string, methods []Method) bool {
	for _, f := range r.runFiles(domain, methods) {
		if _, err := os.Stat(f.path); err != nil {
			return false
		}
	}
	return true
}

// openRuns creates the run files of a domain under temporary names; nameFiles gives them their own. It fails, and
// removes what it created, if a file cannot be created.
func (r *Runs) openRuns(domain string, methods []Method) (w *runWriter, err error) {
	w = &runWriter{files: r.runFiles(domain, methods)}
	for _, f := range w.files {
		err = disk.MkdirAll(filepath.Dir(f.path), 0o755)
		if err == nil {
			f.file, err = disk.Replace(disk.OS{}, f.path)
		}
		if err != nil {
			w.removeFiles()
			return nil, err
		}
		f.out = bufio.NewWriterSize(f.file, 64<<10)
	}
	return w, nil
}

// add writes the rankings of one question to the files of all methods. It fails if a file cannot be written, or a
// ranking does not fit the form.
func (w *runWriter) add(a *AnsweredQuestion) error {
	for _, f := range w.files {
		write := f.writeTREC
		if f.form == RunDPR {
			write = f.writeDPR
		}
		if err := write(a, &a.Rankings[f.method]); err != nil {
			return fmt.Errorf("writing %s: %w", f.path, err)
		}
	}
	return nil
}

// nameFiles ends the files and gives them their names. After an error, files without a name are removed. Files that
// have their names already stay.
func (w *runWriter) nameFiles() error {
	for _, f := range w.files {
		if err := f.end(); err != nil {
			w.removeFiles()
			return fmt.Errorf("writing %s: %w", f.path, err)
		}
	}
	return nil
}

// end writes the end of the file and gives the file its name. If it fails, the file may still have its temporary name.
func (f *runFile) end() error {
	if f.form == RunDPR {
		ending := "\n]\n"
		if f.first {
			ending = "[]\n"
		}
		_, _ = f.out.WriteString(ending) // a bufio.Writer keeps its error for Flush
	}
	if err := f.out.Flush(); err != nil {
		return err
	}
	return f.file.Commit()
}

// removeFiles removes the files that do not have their names yet.
func (w *runWriter) removeFiles() {
	for _, f := range w.files {
		if f.file != nil {
			f.file.Abort()
		}
	}
}

// writeTREC writes a ranking as lines of a TREC run, so that trec_eval finds what evaluate measured. A passage of which
// there are copies has the id of the one that was judged best (judgedID). Readers of runs sort passages by their scores
// as float32 and break ties by id; so a score that is not below the one before it is written as the next float32 below.
// It fails for an id that is empty or has white space.
func (f *runFile) writeTREC(a *AnsweredQuestion, ranked *MethodRanking) error {
	judgements := a.Question.Judgements()
	scores := fallingScores(ranked.Results)
	for i := range ranked.Results {
		id := judgedID(&ranked.Results[i], judgements)
		if strings.ContainsAny(id, " \t\r\n") || id == "" {
			return fmt.Errorf("the passage id %q is empty or has white space in it, which a TREC run cannot hold", id)
		}
		score := strconv.FormatFloat(float64(scores[i]), 'g', -1, 32)
		if _, err := fmt.Fprintf(f.out, "%s Q0 %s %d %s %s\n", a.Question.ID, id, i+1, score, f.name); err != nil {
			return err
		}
	}
	return nil
}

// fallingScores returns the scores of results, each made smaller than the one before it where it is not, so that
// programs that sort by score keep the order.
func fallingScores(results []reply.Result) []float32 {
	out := make([]float32, len(results))
	for i, r := range results {
		out[i] = float32(r.Score)
		if i > 0 && !(out[i] < out[i-1]) {
			out[i] = math.Nextafter32(out[i-1], float32(math.Inf(-1)))
		}
	}
	return out
}

// dprAnswer is an element of DPR's result file; its scores are strings.
type dprAnswer struct {
	Question   string       `json:"question"`
	Answers    []string     `json:"answers"`
	Contexts   []dprContext `json:"ctxs"`
	Confidence *float64     `json:"confidence,omitempty"`
}

type dprContext struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Text      string `json:"text"`
	Score     string `json:"score"`
	HasAnswer bool   `json:"has_answer"`
}

// writeDPR writes a ranking as one element of DPR's JSON list of results. It fails if the file cannot be written.
func (f *runFile) writeDPR(a *AnsweredQuestion, ranked *MethodRanking) error {
	element := dprAnswer{
		Question:   a.Question.Text,
		Answers:    a.Question.Answers,
		Confidence: ranked.Confidence,
		Contexts:   []dprContext{},
	}
	if element.Answers == nil {
		element.Answers = []string{}
	}
	for i := range ranked.Results {
		r := &ranked.Results[i]
		element.Contexts = append(element.Contexts, dprContext{ID: r.ID, Title: r.Title, Text: r.Text,
			Score: strconv.FormatFloat(r.Score, 'g', -1, 64), HasAnswer: a.judge.holdsAnswer(r)})
	}
	before := ",\n    "
	if f.first {
		before, f.first = "[\n    ", false
	}
	if _, err := f.out.WriteString(before); err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(element, "    ", "    ")
	if err != nil {
		return err
	}
	_, err = f.out.Write(encoded)
	return err
}

// fileName returns a method's name with - for each run of characters other than letters, digits, _ and dots, so that
// every file system takes it.
func fileName(name string) string {
	var out strings.Builder
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.' && out.Len() > 0, r == '_':
			out.WriteRune(r)
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "-"):
			out.WriteByte('-')
		}
	}
	return strings.TrimSuffix(out.String(), "-")
}
