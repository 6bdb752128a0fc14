package jobs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

func recordPath(dir string, j *Job) string { return filepath.Join(dir, j.ID+recordSuffix) }

// writeRecord makes a job durable: when it returns, the job survives a power
// cut.
func writeRecord(dir string, j *Job) error {
	if err := makeFolder(dir); err != nil {
		return err
	}
	record := *j
	record.Progress = nil // as of now, and nobody asks a dead process for it
	data, err := json.MarshalIndent(&record, "", "  ")
	if err != nil {
		return err
	}
	return disk.ReplaceFile(disk.OS{}, recordPath(dir, j), func(file *disk.Replacement) error {
		_, err := file.Write(disk.Label("job", RecordFormat, append(data, '\n')))
		return err
	})
}

// makeFolder makes the folder of jobs, durably.
func makeFolder(dir string) error {
	err := disk.OS{}.Mkdir(dir)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return disk.OS{}.SyncDir(filepath.Dir(dir))
}

// removeRecord forgets a job. A record that cannot be removed is read again by
// the next process, and removed then.
func removeRecord(dir string, j *Job) { _ = os.Remove(recordPath(dir, j)) }

// damagedSuffix is behind the name of a record that was set aside.
const damagedSuffix = ".damaged"

// readRecords reads all jobs, in the order of their numbers, with the next number, and the
// records that were set aside, now or before. A record that was not written to its end was
// never acknowledged, and is removed. One that is damaged is set aside, and the other jobs are
// done.
func readRecords(dir string) (jobs []*Job, next uint64, damaged []string, err error) {
	next = 1
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if disk.Unfinished(e.Name()) {
			_ = os.Remove(path)
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
		j, err := readRecord(path, id)
		var damage *damageError
		switch {
		case errors.As(err, &damage):
			if os.Rename(path, path+damagedSuffix) == nil { // else it is told again the next time
				path += damagedSuffix
			}
			damaged = append(damaged, path)
		case err != nil:
			return nil, 0, nil, err
		default:
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *Job) int { return cmp.Or(len(a.ID)-len(b.ID), strings.Compare(a.ID, b.ID)) })
	return jobs, next, slices.Compact(damaged), nil // one may have been there before
}

// damageError is the error of a record that cannot be understood.
type damageError struct{ error }

func readRecord(path, id string) (*Job, error) {
	data, err := os.ReadFile(path)
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
	j := &Job{}
	if err := json.Unmarshal(data, j); err != nil {
		return nil, &damageError{err}
	}
	if known := j.State == Queued || j.State == Running || j.State.Ended(); !known || j.ID != id {
		return nil, &damageError{fmt.Errorf("job %q is %q", j.ID, j.State)}
	}
	return j, nil
}
