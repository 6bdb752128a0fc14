package server

import (
	"context"
	"path/filepath"
	"time"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/originals"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
	"example.org/conclave/store"
)

const (
	// sweepEvery is the shortest time between two looks for copies of files that no document uses any more.
	sweepEvery = 2 * time.Second
	// sweepShare bounds the share of time that these looks take: one that took a second is followed by a pause of so
	// many.
	sweepShare = 20
)

// localFolder returns the path of the collection's folder on this machine; "" if the collection is in a cluster.
func (s *collection) localFolder() string {
	jobs := s.assembly.Store.JobsFolder()
	if jobs == "" {
		return ""
	}
	return filepath.Dir(jobs)
}

// openOriginals sets s.originals to the folder with the copies of uploaded files. A copy that would exceed the
// collection's quota of bytes is refused with a *store.QuotaError. For a collection in a cluster it does nothing.
func (s *collection) openOriginals() (err error) {
	folder := s.localFolder()
	if folder == "" {
		return nil
	}
	s.originals, err = originals.Open(disk.OS{}, folder, func(more int64) error {
		most := s.quotas.Bytes
		if has := s.usedBytes(); most > 0 && has+more > most {
			return &store.QuotaError{Of: "bytes", Most: most, Has: has, More: more}
		}
		return nil
	})
	return err
}

// attachOriginals gives the API a reader of the files of documents: of copies, and of files in followed folders.
func (s *collection) attachOriginals() {
	s.api.AttachOriginals(&originals.Reader{
		Collection: s.localFolder(), Roots: s.follows, Unpack: s.documentOptions().Extractor(),
	})
}

// recordRoots stores the paths of the folders that documents follow with the collection, so that a server started
// without them can open the files in them (GET /v1/originals). For a collection in a cluster it does nothing. It
// fails if they cannot be written.
func (s *collection) recordRoots(roots []string) error {
	folder := s.localFolder()
	if folder == "" {
		return nil
	}
	return originals.RecordRoots(disk.OS{}, folder, roots)
}

// sweepOriginals removes copies of files whose documents are gone, until s.running is done: at the start, for what an
// interruption left, and after each change of the collection, with pauses of sweepEvery or more. It blocks and always
// returns nil; failures are logged and tried again.
func (s *collection) sweepOriginals() error {
	var swept uint64 // the generation that was swept last
	pause := time.Duration(0)
	for {
		select {
		case <-time.After(pause):
		case <-s.running.Done():
			return nil
		}
		pause = sweepEvery
		generation, _, err := s.assembly.Store.Count(s.running)
		if err == nil && generation == swept {
			continue
		}
		began := time.Now()
		if err == nil {
			_, err = s.originals.Sweep(s.running, s.usedOriginals)
		}
		pause = max(pause, sweepShare*time.Since(began))
		if err == nil {
			swept = generation
		} else if s.running.Err() == nil {
			s.log.Warn("copies of files without a document could not be removed; it is tried again", "cause", err)
		}
	}
}

// usedOriginals returns the set of SHA-256 sums of the documents whose file is kept, as a copy or where it was read.
// It first waits until searches see all acknowledged writes, so that no new document is missing. It fails if the
// documents cannot be listed or ctx ends.
func (s *collection) usedOriginals(ctx context.Context) (map[string]bool, error) {
	if err := s.writer.Wait(ctx, 0); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for after := ""; ; {
		found, next, err := s.assembly.Engine.Documents(
			ctx, search.Caller{}, lookup.DocumentsRequest{After: after, Limit: 500},
		)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if d.Original != "" {
				used[d.SHA256] = true
			}
		}
		if next == "" {
			return used, nil
		}
		after = next
	}
}
