package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A job's record is the file NUMBER.json, replaced by a rename.
const recordSuffix = ".json"

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
	path := recordPath(dir, j)
	making := path + ".tmp"
	file, err := os.Create(making)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(making, path)
	}
	if err != nil {
		_ = os.Remove(making)
		return err
	}
	return syncFolder(dir)
}

// makeFolder makes the folder of jobs, durably.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(dir))
}

func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// removeRecord forgets a job. A record that cannot be removed is read again by
// the next process, and removed then.
func removeRecord(dir string, j *Job) { _ = os.Remove(recordPath(dir, j)) }

// readRecords reads all jobs by their numbers. A record that was not written to
// its end was accepted from nobody, and is removed.
func readRecords(dir string) (map[uint64]*Job, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := map[uint64]*Job{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasSuffix(e.Name(), recordSuffix+".tmp") {
			_ = os.Remove(path)
			continue
		}
		id, is := strings.CutSuffix(e.Name(), recordSuffix)
		number, err := strconv.ParseUint(id, 10, 64)
		if !is || err != nil {
			continue // the files of the work itself
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		j := &Job{}
		if err := json.Unmarshal(data, j); err != nil || j.ID != id {
			return nil, fmt.Errorf("%s is damaged (%v): remove it to go on without that job", path, err)
		}
		out[number] = j
	}
	return out, nil
}
