package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/internal/disk"
)

// Visit is called with a change of the log and where its content lies.
type Visit func(seq uint64, kind Kind, content []byte, at ContentPlace) error

// Open reads the log of the collection with this id in the folder dir, and calls visit, in order, with each change
// numbered above applied. It returns the log for appending. It fails if the log is damaged, since acknowledged changes
// would be lost, and with visit's first error. A last record that was cut off is dropped: its changes were not
// acknowledged. A last record that is whole, but perhaps not synced, is written again.
func Open(d disk.Disk, dir, id string, applied uint64, visit Visit) (*Log, error) {
	found, err := readLog(d, dir, id, applied, visit)
	if err != nil {
		return nil, err
	}
	l := &Log{disk: d, Dir: filepath.Join(dir, Folder), id: id, Next: found.next, full: found.files}
	if n := len(found.last.Entries); n > 0 && found.next-1 > applied {
		l.Next -= uint64(n)
		// The file that is written takes the place of one of its name.
		path := filepath.Join(l.Dir, LogName(l.Next))
		l.full = slices.DeleteFunc(l.full, func(f fullFile) bool { return f.path == path })
		places, err := l.Append(found.last.Entries)
		if err != nil {
			return nil, err
		}
		found.last.places = places
	}
	return l, found.last.visit(applied, visit)
}

// Each calls visit, in order, with each change numbered above applied in the log of the collection with this id in the
// folder dir. A folder without a log has no changes. Each writes nothing. It fails if the log is damaged or a file of
// it is missing, and with visit's first error; a last record that was cut off is no damage.
func Each(d disk.Disk, dir, id string, applied uint64, visit Visit) error {
	found, err := readLog(d, dir, id, applied, visit)
	if err != nil {
		return err
	}
	return found.last.visit(applied, visit)
}

// foundLog is what readLog found.
type foundLog struct {
	next  uint64 // the number of the next change
	files []fullFile
	last  logRecord // of all, if nothing shows that it was synced
}

// logRecord is the changes of a record, and where they lie.
type logRecord struct {
	First   uint64
	Entries []Change
	places  []ContentPlace
}

// visit calls visit with each change of the record numbered above applied, and returns its first error with the
// change's number.
func (r *logRecord) visit(applied uint64, visit Visit) error {
	for i, e := range r.Entries {
		if seq := r.First + uint64(i); seq > applied {
			if err := visit(seq, e.Kind, e.Content, r.places[i]); err != nil {
				return fmt.Errorf("change %d of the log file %s: %w", seq, r.places[i].File.Path, err)
			}
		}
	}
	return nil
}

// readLog reads the log in the folder dir of the collection id and calls visit with the changes numbered above
// applied, in order, except those of the last record if nothing shows that it was synced: the result has these. It
// fails if a file is damaged or missing, and with visit's first error. Without a log it finds nothing.
func readLog(d disk.Disk, dir, id string, applied uint64, visit Visit) (found foundLog, err error) {
	dir = filepath.Join(dir, Folder)
	found.next = applied + 1
	files, err := logFiles(d, dir, id)
	if err != nil {
		return found, err
	}
	for len(files) > 1 && files[1].first <= applied+1 {
		// All of it is in segments: it was to be removed.
		found.files = append(found.files, fullFile{path: files[0].Path})
		files = files[1:]
	}
	for i, f := range files {
		if i == 0 && f.first > applied+1 {
			return found, fmt.Errorf(
				"the log %s begins with change %d, but the segments end with change %d: a file of the log is missing",
				dir, f.first, applied,
			)
		}
		end := ^uint64(0)
		if i < len(files)-1 {
			end = files[i+1].first
		}
		r := logReader{LogIdentity: f, End: end, Next: f.first}
		r.Data, err = d.ReadFile(f.Path)
		if err != nil {
			return found, err
		}
		if err := r.Read(func(record *logRecord) error { return record.visit(applied, visit) }); err != nil {
			return found, err
		}
		found.files = append(found.files, fullFile{path: f.Path, last: r.Next - 1})
		found.next = max(found.next, r.Next)
		found.last = r.Held
	}
	return found, nil
}

// logFiles returns the files of a log, in the order of their changes; nil if there is no log. dir is the folder of the
// log, id the collection's identity. It fails if the folder cannot be read.
func logFiles(d disk.Disk, dir, id string) (files []*LogIdentity, err error) {
	entries, err := d.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		number, isLog := strings.CutSuffix(e.Name(), ".log")
		if first, err := strconv.ParseUint(number, 10, 64); isLog && err == nil && len(number) == 20 {
			files = append(files, newLogIdentity(d, filepath.Join(dir, e.Name()), id, first))
		}
	}
	slices.SortFunc(files, func(a, b *LogIdentity) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}
