package server

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// mostInterruptions is how often the server may end while it reads a file before the file is left out.
const mostInterruptions = 2

// readingMark is a small JSON file that records which file of an upload a job is reading. A job that starts again sees
// in it which file was being read when the server ended, and leaves out a file that crashes the server repeatedly. It
// is not synced to disk: it has to survive a crash of the process, not of the machine.
type readingMark struct {
	path string // of the file; "": nothing is recorded
	// Reading is the index of the file in the upload that is being read; nil: none. Interrupted counts, by index,
	// how often the server ended while it read a file.
	Reading     *int        `json:"reading,omitempty"`
	Interrupted map[int]int `json:"interrupted,omitempty"`
}

// openReadingMark returns the mark that earlier attempts of the job left at path, and counts the file that was being
// read as interrupted once more. If the mark is absent or damaged, or path is "", it returns an empty one.
func openReadingMark(path string) *readingMark {
	m := &readingMark{path: path, Interrupted: map[int]int{}}
	if path == "" {
		return m
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, m) != nil || m.Interrupted == nil {
		m.Reading = nil
		m.Interrupted = map[int]int{}
	}
	if m.Reading != nil {
		m.Interrupted[*m.Reading]++
		m.Reading = nil
	}
	return m
}

// beginFile records that the file with this index is read from now on. It returns false, and records nothing, if
// reading the file was interrupted mostInterruptions times: leave it out. The error is that of writing the mark.
func (m *readingMark) beginFile(file int) (bool, error) {
	if m.Interrupted[file] >= mostInterruptions {
		return false, nil
	}
	m.Reading = &file
	return true, m.writeMark()
}

// endFile records that no file is being read, so that a regular end of the server counts as no interruption. It
// removes the mark from disk if no file was ever interrupted. The error is that of the write or removal.
func (m *readingMark) endFile() error {
	m.Reading = nil
	if len(m.Interrupted) > 0 {
		return m.writeMark()
	}
	if m.path == "" {
		return nil
	}
	if err := os.Remove(m.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeMark stores the mark at its path; without a path it does nothing. It fails if the file cannot be written.
func (m *readingMark) writeMark() error {
	if m.path == "" {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(m.path, text, 0o600)
}
