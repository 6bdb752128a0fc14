package folder

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

// visitChange is called with a change of the log and where its content lies.
type visitChange func(seq uint64, kind changeKind, content []byte, at logged) error

// openLog reads the log of a collection and visits, in order, every change that
// is in no segment yet. Damage is an error: it would lose what was acknowledged.
// A last record that was cut off is dropped; it was acknowledged to nobody. One
// that is whole, of which it is not known whether it is on the disk, is written
// once more.
func openLog(d disk.Disk, dir string, m *manifest, visit visitChange) (*changeLog, error) {
	found, err := readLog(d, dir, m, visit)
	if err != nil {
		return nil, err
	}
	l := &changeLog{disk: d, dir: filepath.Join(dir, logFolder), id: m.ID, next: found.next, full: found.files}
	if n := len(found.last.entries); n > 0 && found.next-1 > m.Applied {
		l.next -= uint64(n)
		// The file that is written takes the place of one of its name.
		path := filepath.Join(l.dir, logName(l.next))
		l.full = slices.DeleteFunc(l.full, func(f fullFile) bool { return f.path == path })
		places, err := l.append(found.last.entries)
		if err != nil {
			return nil, err
		}
		found.last.places = places
	}
	return l, found.last.visit(m.Applied, visit)
}

// eachLogged visits every change of a log that is in no segment yet, and changes
// nothing.
func eachLogged(d disk.Disk, dir string, m *manifest, visit visitChange) error {
	found, err := readLog(d, dir, m, visit)
	if err != nil {
		return err
	}
	return found.last.visit(m.Applied, visit)
}

// foundLog is what readLog found.
type foundLog struct {
	next  uint64 // the number of the next change
	files []fullFile
	last  logRecord // of all, if nothing tells whether it was synced
}

// logRecord is the changes of a record, and where they lie.
type logRecord struct {
	first   uint64
	entries []entry
	places  []logged
}

// visit visits the changes behind the one numbered applied.
func (r *logRecord) visit(applied uint64, visit visitChange) error {
	for i, e := range r.entries {
		if seq := r.first + uint64(i); seq > applied {
			if err := visit(seq, e.kind, e.content, r.places[i]); err != nil {
				return fmt.Errorf("change %d of the log file %s: %w", seq, r.places[i].file.path, err)
			}
		}
	}
	return nil
}

// readLog visits the changes of a log that are in no segment yet, except those
// of the last record when nothing tells whether it was synced.
func readLog(d disk.Disk, dir string, m *manifest, visit visitChange) (found foundLog, err error) {
	dir = filepath.Join(dir, logFolder)
	found.next = m.Applied + 1
	files, err := logFiles(d, dir, m.ID)
	if err != nil {
		return found, err
	}
	for len(files) > 1 && files[1].first <= m.Applied+1 {
		// All of it is in segments: it was to be removed.
		found.files = append(found.files, fullFile{path: files[0].path})
		files = files[1:]
	}
	for i, f := range files {
		if i == 0 && f.first > m.Applied+1 {
			return found, fmt.Errorf(
				"the log %s begins with change %d, but the segments end with change %d: a file of the log is missing",
				dir,
				f.first,
				m.Applied,
			)
		}
		end := ^uint64(0)
		if i < len(files)-1 {
			end = files[i+1].first
		}
		r := logReader{logIdentity: f, end: end, next: f.first}
		r.data, err = d.ReadFile(f.path)
		if err != nil {
			return found, err
		}
		if err := r.read(func(record *logRecord) error { return record.visit(m.Applied, visit) }); err != nil {
			return found, err
		}
		found.files = append(found.files, fullFile{path: f.path, last: r.next - 1})
		found.next = max(found.next, r.next)
		found.last = r.held
	}
	return found, nil
}

// logFiles lists the files of a log, in order.
func logFiles(d disk.Disk, dir, id string) (files []*logIdentity, err error) {
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
	slices.SortFunc(files, func(a, b *logIdentity) int { return strings.Compare(a.path, b.path) })
	return files, nil
}
