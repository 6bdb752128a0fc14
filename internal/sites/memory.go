package sites

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"example.org/conclave/internal/disk"
)

// Memory is what is kept of a reading for the next one: by it, pages that did not change need not be sent again, and a
// page is removed only when it was absent twice.
type Memory struct {
	pages   map[string]*remembered
	ignored []string // parameters of queries that do not matter
}

// remembered is what is kept of one address.
type remembered struct {
	etag, modified string    // of the answer
	listed         string    // lastmod of the sitemap
	asked          time.Time // when the site was asked for it last
	left           string    // why it was left out; "": it is a page
	to             string    // where it redirects, or as what it is known
	text           string    // fingerprint of the text
	links          []string  // addresses in the site
	missing        int       // how often it was absent in a row
}

// leaveAs notes that an address is left out for another one, in whose place it may have to be taken later: so its
// content is to be sent again each time.
func (r *remembered) leaveAs(reason, to string) {
	r.left, r.to = reason, to
	r.etag, r.modified = "", ""
}

// memoryFormat is the version of the form that is written.
const memoryFormat = 1

// memoryBytes bounds a memory that is read, unpacked.
const memoryBytes = 1 << 30

// memoryFile is a Memory as JSON. Links are numbers in Addresses.
type memoryFile struct {
	Format    int          `json:"format"`
	Ignored   []string     `json:"ignored,omitempty"`
	Addresses []string     `json:"addresses"`
	Pages     []memoryPage `json:"pages"`
}

// memoryPage is a remembered page as JSON.
type memoryPage struct {
	At       int       `json:"at"`
	ETag     string    `json:"etag,omitempty"`
	Modified string    `json:"modified,omitempty"`
	Listed   string    `json:"listed,omitempty"`
	Asked    time.Time `json:"asked,omitzero"`
	Left     string    `json:"left,omitempty"`
	To       string    `json:"to,omitempty"`
	Text     string    `json:"text,omitempty"`
	Links    []int     `json:"links,omitempty"`
	Missing  int       `json:"missing,omitempty"`
}

// MemoryPath returns where the memory of a site is kept below a folder, by the mark of its documents.
func MemoryPath(folder, mark string) string { return filepath.Join(folder, "sites", mark+".json.gz") }

// LoadMemory reads a memory. One that is not there is empty, and so is one that is damaged or of a later version, by
// which nothing is lost but time. The error is one of reading.
func LoadMemory(d disk.Disk, path string) (*Memory, error) {
	empty := &Memory{pages: map[string]*remembered{}}
	data, err := d.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, err
	}
	in, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return empty, nil
	}
	var file memoryFile
	if err := json.NewDecoder(io.LimitReader(in, memoryBytes)).Decode(&file); err != nil || file.Format != memoryFormat {
		return empty, nil
	}
	m := &Memory{pages: map[string]*remembered{}, ignored: file.Ignored}
	for _, p := range file.Pages {
		r := &remembered{
			etag: p.ETag, modified: p.Modified, listed: p.Listed, asked: p.Asked, left: p.Left, to: p.To, text: p.Text,
			missing: p.Missing,
		}
		for _, at := range append([]int{p.At}, p.Links...) {
			if at < 0 || at >= len(file.Addresses) {
				return empty, nil
			}
		}
		for _, at := range p.Links {
			r.links = append(r.links, file.Addresses[at])
		}
		m.pages[file.Addresses[p.At]] = r
	}
	return m, nil
}

// Forget makes the next reading fetch a page again, such as one that could not be put into the collection.
func (m *Memory) Forget(address string) {
	if r := m.pages[address]; r != nil {
		r.etag, r.modified, r.listed = "", "", ""
	}
}

// Save writes the memory, and makes the folder if need be. It replaces the file as a whole. It fails if the file cannot
// be written.
func (m *Memory) Save(d disk.Disk, path string) error {
	file := memoryFile{Format: memoryFormat, Ignored: m.ignored}
	numbers := map[string]int{}
	number := func(address string) int {
		n, known := numbers[address]
		if !known {
			n = len(file.Addresses)
			numbers[address] = n
			file.Addresses = append(file.Addresses, address)
		}
		return n
	}
	for _, address := range slices.Sorted(maps.Keys(m.pages)) {
		r := m.pages[address]
		p := memoryPage{
			At: number(address), ETag: r.etag, Modified: r.modified, Listed: r.listed, Asked: r.asked, Left: r.left, To: r.to,
			Text: r.text, Missing: r.missing,
		}
		for _, link := range r.links {
			p.Links = append(p.Links, number(link))
		}
		file.Pages = append(file.Pages, p)
	}
	if err := d.Mkdir(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("what is known of the site cannot be kept: %w", err)
	}
	return disk.ReplaceFile(d, path, func(to *disk.Replacement) error {
		packed := gzip.NewWriter(to)
		return errors.Join(json.NewEncoder(packed).Encode(file), packed.Close())
	})
}
