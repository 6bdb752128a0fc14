// Package collections keeps the collections of a data folder: what is said of each, which there are,
// and how one comes and goes as a whole. It opens none.
package collections

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"example.org/conclave/internal/disk"

	"go.yaml.in/yaml/v3"
)

// The codes of errors that callers may know.
const (
	Unknown = "unknown_collection"
	Exists  = "collection_exists"
	Invalid = "invalid_name"
	Damaged = "collection_damaged"
	// Unavailable: the store of the collection does not answer now.
	Unavailable = "unavailable"
	// NotOpen: the collection is still being opened; it may be asked again soon.
	NotOpen = "opening"
	NoValue = "unknown_value"
	InUse   = "collection_in_use"
)

// Error is an error about a collection that a caller may be told.
type Error struct {
	Code, Detail string
	Cause        error // for the log; nil: the detail says all
}

// Error returns the Detail, without the Cause.
func (e *Error) Error() string { return e.Detail }

// Unwrap returns the Cause; nil if there is none.
func (e *Error) Unwrap() error { return e.Cause }

// newError returns an *Error with a code and a formatted detail.
func newError(code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// UnknownError returns the *Error of a name that no collection has.
func UnknownError(name string) *Error { return newError(Unknown, "there is no collection %q", name) }

// The states of a collection.
const (
	Closed  = "closed" // it is opened when it is asked
	Opening = "opening"
	Opened  = "open"
	Failed  = "failed"
)

// Info describes a collection.
type Info struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Detail  string `json:"detail,omitempty"` // why it failed
	Default bool   `json:"default,omitempty"`
	// The rest is known where the collection could be read; passages and experts where it is
	// open, or was described by itself.
	Generation *uint64    `json:"generation,omitempty"`
	Passages   *int       `json:"passages,omitempty"`
	Bytes      *int64     `json:"bytes,omitempty"` // of its folder
	Experts    []string   `json:"experts,omitempty"`
	Created    *time.Time `json:"created,omitempty"`
	Settings   *Settings  `json:"settings,omitempty"`
}

// Settings are the settings of one collection.
type Settings struct {
	Description string `json:"description,omitempty" yaml:"description,omitempty"`
	// Languages are the codes of those that a new collection's passages are in. They choose Experts and Analysis where
	// these are empty.
	Languages []string `json:"languages,omitempty" yaml:"languages,omitempty"`
	// Experts, Index and Analysis are those of a new collection; empty: the server's.
	Experts  []string `json:"experts,omitempty" yaml:"experts,omitempty"`
	Index    string   `json:"index,omitempty" yaml:"index,omitempty"`       // kind of its vector indexes
	Analysis string   `json:"analysis,omitempty" yaml:"analysis,omitempty"` // of its words
	Search   Defaults `json:"search,omitzero" yaml:"search,omitempty"`
	Quotas   Quotas   `json:"quotas,omitzero" yaml:"quotas,omitempty"`
	// Synonyms are added to questions. Overrides put passages first or hide them for some questions. Fields are the
	// types of metadata fields: "keyword", "number", "date" or "bool".
	Synonyms  []Synonyms        `json:"synonyms,omitempty" yaml:"synonyms,omitempty"`
	Overrides []Override        `json:"overrides,omitempty" yaml:"overrides,omitempty"`
	Fields    map[string]string `json:"fields,omitempty" yaml:"fields,omitempty"`
}

// Synonyms are words of which each is searched for the others, or words From for which To is searched, too.
type Synonyms struct {
	Words []string `json:"words,omitempty" yaml:"words,omitempty"`
	From  []string `json:"from,omitempty" yaml:"from,omitempty"`
	To    []string `json:"to,omitempty" yaml:"to,omitempty"`
}

// Override is what an administrator decided for some questions: those in Questions, and all that have a phrase of
// Contains. Pin are ids of passages and documents that are shown first, and Hide of those that are not found.
type Override struct {
	Questions []string `json:"questions,omitempty" yaml:"questions,omitempty"`
	Contains  []string `json:"contains,omitempty" yaml:"contains,omitempty"`
	Pin       []string `json:"pin,omitempty" yaml:"pin,omitempty"`
	Hide      []string `json:"hide,omitempty" yaml:"hide,omitempty"`
}

// Defaults are the values for requests that set none; zero values stand for the server's.
type Defaults struct {
	Fusion     string `json:"fusion,omitempty" yaml:"fusion,omitempty"`
	K          int    `json:"k,omitempty" yaml:"k,omitempty"`
	Candidates int    `json:"candidates,omitempty" yaml:"candidates,omitempty"`
}

// Quotas are the limits of a collection, or of a key; 0: no limit.
type Quotas struct {
	Passages        int     `json:"passages,omitempty" yaml:"passages,omitempty"`
	Bytes           int64   `json:"bytes,omitempty" yaml:"bytes,omitempty"` // of the collection's folder
	RequestsASecond float64 `json:"requests_a_second,omitempty" yaml:"requests_a_second,omitempty"`
}

// SettingsFile is the name of the file with a collection's settings.
const SettingsFile = "collection.yaml"

// settingsName is the name of the file with a collection's settings, in its folder.
const settingsName = SettingsFile

// record is the content of the settings file.
type record struct {
	Created  time.Time `yaml:"created,omitempty"`
	Settings `yaml:",inline"`
}

// Read returns the settings of the collection in the folder dir, and when it was made; zero values if it has no
// settings file. It fails if the file cannot be read or parsed.
func Read(d disk.Disk, dir string) (s Settings, created time.Time, err error) {
	text, err := ReadText(d, dir)
	if err == nil {
		s, created, err = Parse(text)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(dir, settingsName), err)
	}
	return s, created, err
}

// ReadText returns the text of a collection's settings file in a folder; nil, without an error, if there is none.
func ReadText(d disk.Disk, dir string) ([]byte, error) {
	text, err := d.ReadFile(filepath.Join(dir, settingsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Parse parses the text of settings, with the time when their collection was made. It returns zero values for an empty
// text, and fails for unknown names.
func Parse(text []byte) (s Settings, created time.Time, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return s, created, nil
	}
	var r record
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err = decoder.Decode(&r)
	if errors.Is(err, io.EOF) { // comments alone
		err = nil
	}
	return r.Settings, r.Created, err
}

// WriteText replaces the settings file of the collection in the folder dir, or makes it. It returns when the file is
// durable. If it fails, the file that was there stays.
func WriteText(d disk.Disk, dir string, text []byte) error {
	return disk.ReplaceFile(d, filepath.Join(dir, settingsName), func(file *disk.Replacement) error {
		_, err := file.Write(text)
		return err
	})
}

// Format returns the text of the settings of a new collection, for its file or its manifest. It fails if a value cannot
// be written as YAML.
func Format(s Settings, created time.Time) ([]byte, error) {
	return yaml.Marshal(record{created.UTC().Truncate(time.Second), s})
}

// Write writes the settings file of a new collection into the folder dir, and returns when it is durable. It overwrites
// an existing file. After an error part of the file may be written. It fails also if s cannot be written as text
// (Format).
func Write(d disk.Disk, dir string, s Settings, created time.Time) error {
	text, err := Format(s, created)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, settingsName)
	return errors.Join(d.WriteFile(path, text), d.SyncFile(path), d.SyncDir(dir))
}

// longestName is the largest number of bytes of a collection's name.
const longestName = 64

// CheckName returns an *Error if no collection can have the name: other characters than ASCII letters, digits, '.', '-'
// and '_', none or more than 64, or a sign at the beginning.
func CheckName(name string) error {
	const allowed = "a name has 1 to 64 letters, digits, '.', '-' and '_' of ASCII and begins with a letter or digit"
	for i, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '-' || c == '_'):
		default:
			return newError(Invalid, "%q cannot name a collection: %s", name, allowed)
		}
	}
	if name == "" || len(name) > longestName {
		return newError(Invalid, "%q cannot name a collection: %s", name, allowed)
	}
	return nil
}
