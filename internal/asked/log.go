// Package asked keeps questions that a collection was asked: those that it did not answer, for those who add documents
// to it, and those that it answered, which are suggested to others.
package asked

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"example.org/conclave/internal/disk"
)

// The names of the files of a collection's Logs, in its folder.
const (
	UnansweredFile = "unanswered.json"
	AnsweredFile   = "answered.json"
)

// mostBytes bounds the text of one question. A longer one is cut.
const mostBytes = 500

// writeEvery is the time between two writes of what was added. A crash loses what was added since the last one.
const writeEvery = 5 * time.Second

// Question is a question that was asked. Verdict, Filtered and Nearest are kept of those that were not answered,
// Restriction and Askers of those that were.
type Question struct {
	Question string    `json:"question"`          // as it was last asked; at most 500 bytes and "…"
	Verdict  string    `json:"verdict"`           // of the last answer: "not_found" or "doubtful"
	Asked    int       `json:"asked"`             // how many times
	First    time.Time `json:"first"`             // when it was first asked
	Last     time.Time `json:"last"`              // when it was last asked
	Filtered bool      `json:"filtered"`          // whether the last search was of a part of the passages only
	Nearest  string    `json:"nearest,omitempty"` // id of the first passage of the last search; "": none was found
	// Restriction is that of those who asked it, as JSON. Questions with different ones are different questions.
	Restriction string `json:"restriction,omitempty"`
	// Askers are marks of who asked it (AskerMark), at most MostAskers.
	Askers []string `json:"askers,omitempty"`
}

// MostAskers is how many askers of a question are told apart.
const MostAskers = 1000

// AskerMark returns a mark of somebody who asked a question, such as a key or an address: 16 bits of a hash of both, by
// which askers of one question can be counted, and by which nobody can be found.
func AskerMark(who, question string) string {
	sum := sha256.Sum256([]byte(who + "\x00" + keyOf(question)))
	return hex.EncodeToString(sum[:2])
}

// Log is a bounded set of questions in memory and in a file. Questions are the same if they differ in case, space and
// punctuation only. It is safe for concurrent use.
type Log struct {
	disk disk.Disk
	path string
	most int
	age  time.Duration
	now  func() time.Time

	mu        sync.Mutex
	questions map[string]Question // by key
	changed   bool                // since the file was written
	writing   sync.Mutex          // held while the file is written, and before mu
}

// Open returns the log in a file, which need not exist. The log has at most `most` questions, which is 1 or more: a
// further one replaces the one that was asked least often, of these the one not asked for longest. A question that
// was not asked for the time age is dropped. Open fails if the file cannot be read or is not a log. It starts
// nothing: Run or Write writes the file.
func Open(d disk.Disk, path string, most int, age time.Duration) (*Log, error) {
	l := &Log{disk: d, path: path, most: most, age: age, now: time.Now, questions: map[string]Question{}}
	text, err := d.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the questions that were asked: %w", err)
	}
	var all []Question
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s has no questions (%w): delete the file to begin anew", path, err)
	}
	slices.SortFunc(all, compare)
	for _, q := range all[:min(len(all), most)] {
		l.questions[q.key()] = q
	}
	return l, nil
}

// shorten returns a question as it is, or if it has more than mostBytes bytes, its first mostBytes followed by "…".
func shorten(question string) string {
	if len(question) <= mostBytes {
		return question
	}
	return strings.ToValidUTF8(question[:mostBytes], "") + "…"
}

// keyOf returns a text that is equal for questions that count as the same: their words in lower case, with one
// space between; "" if there are none.
func keyOf(question string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(shorten(question)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	}), " ")
}

// key returns a text that is equal for questions that count as the same.
func (q *Question) key() string { return keyOf(q.Question) + "\x00" + q.Restriction }

// Add counts one more asking of q.Question, now, with the verdict, filter, nearest passage and restriction of q, and
// adds its askers. The other fields of q are ignored, and so is a question without a letter or digit. If the log is
// full, it drops another question. It does not write the file.
func (l *Log) Add(q Question) {
	if keyOf(q.Question) == "" {
		return
	}
	key := q.key()
	q.Question = shorten(q.Question)
	l.mu.Lock()
	defer l.mu.Unlock()
	q.Last = l.now().UTC().Truncate(time.Second)
	before, known := l.questions[key]
	q.First, q.Asked = before.First, before.Asked+1
	askers := slices.Clone(before.Askers)
	for _, who := range q.Askers {
		if len(askers) < MostAskers && !slices.Contains(askers, who) {
			askers = append(askers, who)
		}
	}
	q.Askers = askers
	if !known {
		q.First = q.Last
	}
	l.questions[key] = q
	if len(l.questions) > l.most {
		l.dropLeast(key)
	}
	l.changed = true
}

// Forget removes a question of those with a restriction, since it has another verdict now. A question that is not in
// the log changes nothing. It does not write the file.
func (l *Log) Forget(question, restriction string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := Question{Question: question, Restriction: restriction}
	if _, known := l.questions[q.key()]; known {
		delete(l.questions, q.key())
		l.changed = true
	}
}

// Completions returns at most so many questions (most) of those with a restriction, that so many askers or more have
// asked, and that have what was typed at the beginning of a word: first those that begin with it, of these first those
// that were asked more often. It returns nil for a text without words.
func (l *Log) Completions(typed, restriction string, askers, most int) []Question {
	begin := keyOf(typed)
	if begin == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropOld()
	var first, rest []Question
	for key, q := range l.questions {
		words, _, _ := strings.Cut(key, "\x00")
		switch {
		case q.Restriction != restriction || len(q.Askers) < askers:
		case strings.HasPrefix(words, begin):
			first = append(first, q)
		case strings.Contains(words, " "+begin):
			rest = append(rest, q)
		}
	}
	slices.SortFunc(first, compare)
	slices.SortFunc(rest, compare)
	all := append(first, rest...)
	return all[:min(len(all), most)]
}

// dropOld removes the questions that were last asked longer ago than l.age, and sets changed if there was one. It does
// not write the file. The caller holds mu.
func (l *Log) dropOld() {
	oldest := l.now().Add(-l.age)
	before := len(l.questions)
	maps.DeleteFunc(l.questions, func(_ string, q Question) bool { return q.Last.Before(oldest) })
	l.changed = l.changed || len(l.questions) < before
}

// dropLeast removes the question that is last in the order of compare, but never the question with the key except; ""
// excepts none. It does nothing if there is no other. The caller holds mu.
func (l *Log) dropLeast(except string) {
	least := ""
	for key, q := range l.questions {
		if key != except && (least == "" || compare(q, l.questions[least]) > 0) {
			least = key
		}
	}
	delete(l.questions, least)
}

// compare orders questions: asked more often first, then asked later, then by their text.
func compare(a, b Question) int {
	return cmp.Or(cmp.Compare(b.Asked, a.Asked), b.Last.Compare(a.Last), strings.Compare(a.Question, b.Question))
}

// Most returns the number of questions that the log has room for.
func (l *Log) Most() int { return l.most }

// All returns the questions: those asked more often first, then those asked later. It drops those that are too old.
func (l *Log) All() []Question {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropOld()
	return slices.SortedFunc(maps.Values(l.questions), compare)
}

// Remove removes the question with the same words in any case, whatever its restriction, or all questions if question
// is "". It returns how many it removed, after writing the file. If the file cannot be written, it returns 0 and an
// error, and the questions stay.
func (l *Log) Remove(question string) (removed int, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	before := maps.Clone(l.questions)
	if question == "" {
		clear(l.questions)
	} else {
		maps.DeleteFunc(l.questions, func(_ string, q Question) bool { return keyOf(q.Question) == keyOf(question) })
	}
	removed = len(before) - len(l.questions)
	l.changed = l.changed || removed > 0
	l.mu.Unlock()
	if err := l.write(); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		for key, q := range before {
			if _, again := l.questions[key]; !again {
				l.questions[key] = q
			}
		}
		for len(l.questions) > l.most {
			l.dropLeast("")
		}
		return 0, err
	}
	return removed, nil
}

// Run writes the file when questions have changed, every few seconds and once at the end, and returns when ctx is
// done. It calls report with the first error of writing and goes on, and with nil when writing works again.
func (l *Log) Run(ctx context.Context, report func(error)) {
	failing := false
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			done = true
		}
		err := l.Write()
		if failing != (err != nil) {
			report(err)
		}
		failing = err != nil
	}
}

// Write writes the file if questions have changed since it was written. After an error the next Write tries again.
func (l *Log) Write() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.write()
}

// write replaces the file by the questions as they are now, unless none has changed since it was last written. If it
// fails, the next call tries again. The caller holds writing.
func (l *Log) write() error {
	l.mu.Lock()
	l.dropOld()
	changed := l.changed
	l.changed = false
	all := slices.SortedFunc(maps.Values(l.questions), compare)
	l.mu.Unlock()
	if !changed {
		return nil
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = disk.ReplaceFile(l.disk, l.path, func(file *disk.Replacement) error {
			_, err := file.Write(text)
			return err
		})
	}
	if err != nil {
		l.mu.Lock()
		l.changed = true
		l.mu.Unlock()
		return fmt.Errorf("writing the questions to %s: %w", l.path, err)
	}
	return nil
}
