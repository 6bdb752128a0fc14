package evaluation

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"example.org/conclave/internal/disk"
)

// State is a file of figures that were measured, so that an interrupted evaluation continues with the domain where it
// stopped. Figures are used only for the same questions, asked in the same way of the same collection.
type State struct {
	path    string
	entries map[string]stateEntry // by domain, and one for the times
}

// stateEntry is a line of the file.
type stateEntry struct {
	Part     string         `json:"part"`
	Stamp    string         `json:"stamp"` // of all that the figures depend on
	Measured *DomainResults `json:"measured,omitempty"`
	Latency  []Latency      `json:"latency,omitempty"`
}

const (
	stateVersion = "conclave evaluation state 2"
	timesPart    = "times"
)

// domainPart returns the name of the part with a domain's figures.
func domainPart(domain string) string { return "domain " + domain }

// OpenState returns the state in a file, or an empty one if the file does not exist. It fails if the file is damaged or
// of another version.
func OpenState(path string) (*State, error) {
	s := &State{path: path, entries: map[string]stateEntry{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if string(lines[0]) != stateVersion {
		return nil, fmt.Errorf("%s is no state of an evaluation by this version: name another file, or remove it", path)
	}
	for i, line := range lines[1:] {
		var e stateEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s line %d is damaged (%w): remove the file", path, i+2, err)
		}
		s.entries[e.Part] = e
	}
	return s, nil
}

// findPart returns a part of the state, and whether it is there with this stamp. It finds nothing on nil.
func (s *State) findPart(part, stamp string) (stateEntry, bool) {
	if s == nil {
		return stateEntry{}, false
	}
	e, ok := s.entries[part]
	return e, ok && e.Stamp == stamp
}

// keepPart adds or replaces a part and replaces the whole file. It does nothing on nil. It fails if the file cannot be
// written; the former one is there then.
func (s *State) keepPart(e stateEntry) error {
	if s == nil {
		return nil
	}
	s.entries[e.Part] = e
	return disk.ReplaceFile(disk.OS{}, s.path, func(file *disk.Replacement) error {
		out := bufio.NewWriter(file)
		_, _ = fmt.Fprintln(out, stateVersion) // a bufio.Writer keeps its error for Flush
		encoder := json.NewEncoder(out)
		for _, entry := range s.entries {
			if err := encoder.Encode(entry); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

// stampOf returns a digest of the values that figures depend on, by their JSON: figures with another stamp were
// measured otherwise. It fails if a value has no form in JSON.
func stampOf(values ...any) (string, error) {
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	for _, part := range values {
		if err := encoder.Encode(part); err != nil {
			return "", fmt.Errorf("the stamp of an evaluation: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}
