package server

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// mostInterruptions is how often the reading of a file may have been interrupted before it is given up.
const mostInterruptions = 2

// readingMark is a file that says which file of an upload a job reads, so that one that takes the server down
// is not read at every start. It is not synced: it has to outlive the process, not the machine.
type readingMark struct {
	path string // "": there is no place for it, and nothing is remembered
	// Reading is the place of the file in the upload that is being read, and Interrupted how often the server
	// ended while it read a file, by these places.
	Reading     *int        `json:"reading,omitempty"`
	Interrupted map[int]int `json:"interrupted,omitempty"`
}

// openReadingMark reads what the attempts before have left at a path. One that cannot be read counts as none.
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

// begin notes that a file is read from now on. It returns false, and notes nothing, where that was
// interrupted too often.
func (m *readingMark) begin(file int) (bool, error) {
	if m.Interrupted[file] >= mostInterruptions {
		return false, nil
	}
	m.Reading = &file
	return true, m.write()
}

// end notes that no file is read any more, as at the end of the server.
func (m *readingMark) end() error {
	m.Reading = nil
	if len(m.Interrupted) > 0 {
		return m.write()
	}
	if m.path == "" {
		return nil
	}
	if err := os.Remove(m.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (m *readingMark) write() error {
	if m.path == "" {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(m.path, text, 0o600)
}
