package jobs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"example.org/conclave/internal/disk"
)

// A job's record is the file NUMBER.json: a label with a checksum, and JSON. Those
// of before there were labels are JSON alone.
const (
	recordSuffix = ".json"
	// RecordFormat is the version of the form that is written.
	RecordFormat = 1
)

// recordPath returns the path of a job's file in the folder dir.
func recordPath(dir, id string) string { return filepath.Join(dir, id+recordSuffix) }

// writeRecord writes a job's file durably: the job survives a power cut once it returns nil. It makes the folder if
// need be. It fails if writing does.
func writeRecord(d disk.Disk, dir string, j *Record) error {
	if err := makeFolder(d, dir); err != nil {
		return err
	}
	data, err := encodeRecord(j)
	if err != nil {
		return err
	}
	return disk.ReplaceFile(d, recordPath(dir, j.ID), func(file *disk.Replacement) error {
		_, err := file.Write(data)
		return err
	})
}

// encodeRecord returns the content of a job's file: a label with a checksum, and the job as JSON without its
// progress. It fails if the job cannot be encoded.
func encodeRecord(j *Record) ([]byte, error) {
	record := *j
	record.Progress = nil // as of now, and nobody asks a dead process for it
	data, err := json.MarshalIndent(&record, "", "  ")
	return disk.Label("job", RecordFormat, append(data, '\n')), err
}

// makeFolder makes the folder of jobs durably. It does nothing if the folder exists, and fails if the folder above
// does not.
func makeFolder(d disk.Disk, dir string) error {
	err := d.Mkdir(dir)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(dir))
}

// removeRecord removes a job's file. If that fails the next process reads the job again, and removes it then.
func removeRecord(d disk.Disk, dir, id string) { _ = d.Remove(recordPath(dir, id)) }

// damagedSuffix is added to the name of a damaged record.
const damagedSuffix = ".damaged"

// readRecords returns the jobs in dir in the order of their numbers, the number of the next job, and the paths of
// damaged records. It renames a record that is damaged, and removes files that were not written to their end, whose
// jobs were never acknowledged. A folder that does not exist has no jobs. It fails if the folder or a file in it
// cannot be read.
func readRecords(d disk.Disk, dir string) (jobs []*Record, next uint64, damaged []string, err error) {
	next = 1
	entries, err := d.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if disk.Unfinished(e.Name()) {
			_ = d.Remove(path)
			continue
		}
		record, aside := strings.CutSuffix(e.Name(), damagedSuffix)
		id, is := strings.CutSuffix(record, recordSuffix)
		number, err := strconv.ParseUint(id, 10, 64)
		if !is || err != nil {
			continue // the files of the work itself
		}
		next = max(next, number+1)
		if aside {
			damaged = append(damaged, path)
			continue
		}
		j, err := readRecord(d, path, id)
		var damage *damageError
		switch {
		case errors.As(err, &damage):
			if d.Rename(path, path+damagedSuffix) == nil { // else it is told again the next time
				path += damagedSuffix
			}
			damaged = append(damaged, path)
		case err != nil:
			return nil, 0, nil, err
		default:
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *Record) int { return cmp.Or(len(a.ID)-len(b.ID), strings.Compare(a.ID, b.ID)) })
	return jobs, next, slices.Compact(damaged), nil // one may have been there before
}

// damageError is the error of a record that cannot be understood.
type damageError struct{ error }

// readRecord reads a job's file. The error is a *damageError if the content is damaged or not that of the job with
// this id; other errors are those of reading.
func readRecord(d disk.Disk, path, id string) (*Record, error) {
	data, err := d.ReadFile(path)
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EISDIR) {
		return nil, &damageError{err}
	}
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(data, []byte("{")) {
		data, err = disk.Unlabel("job", RecordFormat, data)
		if err != nil {
			return nil, &damageError{err}
		}
	}
	j := &Record{}
	if err := json.Unmarshal(data, j); err != nil {
		return nil, &damageError{err}
	}
	if known := j.State == Queued || j.State == Running || j.State.Ended(); !known || j.ID != id {
		return nil, &damageError{fmt.Errorf("job %q is %q", j.ID, j.State)}
	}
	return j, nil
}
