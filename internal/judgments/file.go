package judgments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"example.org/conclave/internal/disk"
)

// FileName is the name of the file of judgments in a collection's folder.
const FileName = "judgments.jsonl"

// JudgmentFile keeps judgments in a file, one in each line: when Put returns, its judgment is on disk. Opening the file
// drops a line that a crash cut, and lines that later ones replaced. It is safe for concurrent use.
type JudgmentFile struct {
	disk disk.Disk
	path string

	mu   sync.Mutex
	all  []Judgment
	size int64 // of the lines that count
	torn bool  // there may be something behind them
}

// Open opens the file of judgments at path; the first Put makes it. It rewrites the file if lines are cut or
// replaced, unless some are damaged: damaged has the numbers, from 1, of lines that are no judgments; they stay in
// the file and are ignored. It fails if the file cannot be read. After an error of rewriting f can be used.
func Open(d disk.Disk, path string) (f *JudgmentFile, damaged []int, err error) {
	f = &JudgmentFile{disk: d, path: path}
	text, err := d.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the judgments in %s: %w", path, err)
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	lines := 0
	for line := range bytes.Lines(whole) {
		lines++
		var j Judgment
		if err := json.Unmarshal(line, &j); err != nil || j.Question == "" || j.Passage == "" {
			damaged = append(damaged, lines)
			continue
		}
		f.keepLatest(j)
	}
	f.size = int64(len(whole))
	f.torn = len(whole) < len(text)
	if len(damaged) == 0 && (f.torn || len(f.all) < lines) {
		err = f.rewrite()
	}
	return f, damaged, err
}

// keepLatest adds a judgment after the others and removes the earlier one with the same subject; one without a
// grade only removes. The caller holds mu.
func (f *JudgmentFile) keepLatest(j Judgment) {
	f.all = slices.DeleteFunc(f.all, func(other Judgment) bool { return other.subject() == j.subject() })
	if j.Grade != nil {
		f.all = append(f.all, j)
	}
}

// rewrite replaces the file by one with the judgments that count. After an error the old file is there. The caller
// holds mu.
func (f *JudgmentFile) rewrite() error {
	var text bytes.Buffer
	for i := range f.all {
		if err := appendLine(&text, &f.all[i]); err != nil {
			return err
		}
	}
	err := disk.ReplaceFile(f.disk, f.path, func(file *disk.Replacement) error {
		_, err := file.Write(text.Bytes())
		return err
	})
	if err == nil {
		f.size = int64(text.Len())
		f.torn = false
	}
	return err
}

// appendLine appends a judgment as a line of JSON. It fails if a value has no JSON, with nothing appended.
func appendLine(to *bytes.Buffer, j *Judgment) error {
	line, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("a judgment of %q: %w", j.Question, err)
	}
	to.Write(line)
	return to.WriteByte('\n')
}

// Put stores a judgment, which then survives a power cut. It replaces an earlier one with the same subject; one
// without a grade takes that back. After an error nothing is stored.
func (f *JudgmentFile) Put(j Judgment) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.torn { // an earlier line did not come to the disk whole
		if err := f.rewrite(); err != nil {
			return err
		}
	}
	var line bytes.Buffer
	if err := appendLine(&line, &j); err != nil {
		return err
	}
	if err := f.appendLine(line.Bytes()); err != nil {
		f.torn = true
		return fmt.Errorf("writing to %s: %w", f.path, err)
	}
	f.size += int64(line.Len())
	f.keepLatest(j)
	return nil
}

// appendLine appends a line to the file, or makes the file with it, and waits until it is on disk. After an error a
// part of the line may be in the file.
func (f *JudgmentFile) appendLine(line []byte) (err error) {
	if f.size == 0 { // with the name, which an append would not make durable
		return disk.ReplaceFile(f.disk, f.path, func(file *disk.Replacement) error {
			_, err := file.Write(line)
			return err
		})
	}
	file, err := f.disk.OpenAppend(f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(line); err != nil {
		return err
	}
	return file.Sync()
}

// All returns a copy of the judgments that count, the oldest first.
func (f *JudgmentFile) All() []Judgment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}
