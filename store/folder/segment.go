package folder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.org/conclave/ann"
	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/fields"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/segmentfile"
	"example.org/conclave/store/folder/tags"
)

// segment is an open segment of a generation.
type segment struct {
	name    string
	base    rank.Ordinal // of its first passage in the generation
	store   *corpus.Store
	words   *bm25.Index
	tags    *tags.Index
	vectors map[string]ann.Index // by expert that has its own
	dead    segmentfile.Tombstones
	live    *ann.Filter // what is not dead; nil is all
	spelled *segmentLexicon
	reads   *segmentReads // nil: not known
	copies  *fingerprints
	fields  *fields.Index
	firsts  *firsts
}

// parts says which files of a segment are opened.
type parts int

const (
	everything parts = iota
	wordless         // the passages alone: what a writer needs
)

// opening opens the files of a segment.
type opening struct {
	files  *sharedFiles
	folder string
	disk   segmentfile.Disk
	keys   []string // what was used of files
}

// openSegment opens the files of a segment that a manifest names and compares their sizes, headers and numbers of
// passages; it does not read the contents. With wordless it leaves out words, tags, spellings, fields and vectors. It
// also returns the keys that it used in files, on errors too: the caller drops them. dir is the collection's folder.
func openSegment(
	files *sharedFiles,
	dir string,
	m *manifest.Manifest,
	s *manifest.Segment,
	opened parts,
) (*segment, []string, error) {
	sealed := segmentfile.Disk{Disk: files.disk, Files: s.Files()}
	o := &opening{files: files, folder: filepath.Join(dir, s.Name), disk: sealed}
	out := &segment{name: s.Name, vectors: map[string]ann.Index{}}
	var err error
	out.store, err = openFile(
		o, func(path string) (*corpus.Store, error) { return corpus.OpenStore(o.disk, path) }, s.Store,
	)
	if err != nil {
		return nil, o.keys, err
	}
	if err := o.checkCount(s.Store, out.store.Len(), s.Passages); err != nil {
		return nil, o.keys, err
	}
	if s.Tombstones != nil {
		out.dead, err = segmentfile.ReadTombstones(files.disk, o.folder, s)
		if err != nil {
			return nil, o.keys, err
		}
		out.live = ann.FilterOf(out.dead.Alive(s.Passages))
	}
	out.reads, err = openReads(files.disk, o.folder, s)
	if err != nil {
		return nil, o.keys, err
	}
	out.copies, err = o.fingerprints(s)
	if err != nil {
		return nil, o.keys, err
	}
	out.firsts, err = o.firsts(out.store)
	if err != nil {
		return nil, o.keys, err
	}
	if opened == wordless {
		return out, o.keys, nil
	}
	out.words, err = openFile(o, func(path string) (*bm25.Index, error) { return bm25.Open(o.disk, path) }, s.Words)
	if err != nil {
		return nil, o.keys, fault(
			ErrDamagedWords, dir, "", "%w; or index the words anew, from the passages that are there", err,
		)
	}
	if err := o.checkCount(s.Words, out.words.Docs(), s.Passages); err != nil {
		return nil, o.keys, err
	}
	if p := out.words.Params(); p != m.Words.Params() {
		return nil, o.keys, fmt.Errorf(
			"%s was built with %+v, the manifest says %+v", filepath.Join(o.folder, s.Words.Name), p, m.Words.Params(),
		)
	}
	out.tags, err = openFile(o, func(path string) (*tags.Index, error) { return tags.Open(o.disk, path) }, s.Tags)
	if err != nil {
		return nil, o.keys, err
	}
	if err := o.checkCount(s.Tags, out.tags.Passages(), s.Passages); err != nil {
		return nil, o.keys, err
	}
	out.spelled, err = o.spelledWords(s)
	if err != nil {
		return nil, o.keys, err
	}
	out.fields, err = o.openFields(s)
	if err != nil {
		return nil, o.keys, err
	}
	for _, x := range m.Keepers() {
		out.vectors[x.Name], err = o.index(x, s)
		if err != nil {
			return nil, o.keys, fault(ErrDamagedVectors, dir, x.Name, "%w", err)
		}
	}
	return out, o.keys, nil
}

// index opens the index of an expert's vectors in a segment. It fails if the dimension or the number of passages is not
// the manifest's.
func (o *opening) index(x manifest.Expert, s *manifest.Segment) (ann.Index, error) {
	expert := s.Expert(x.Name)
	files := []manifest.SegmentFile{}
	for _, f := range expert.Files() {
		files = append(files, *f)
	}
	ix, err := openFile(
		o,
		func(string) (ann.Index, error) { return pathsOf(expert, o.folder).open(o.disk, x.Index.Kind) },
		files...)
	if err != nil {
		return nil, err
	}
	if ix.Dimension() != x.Dimension {
		return nil, fmt.Errorf(
			"%s has vectors of %d numbers, the manifest says %d", filepath.Join(o.folder, expert.Vectors.Name),
			ix.Dimension(), x.Dimension,
		)
	}
	return ix, o.checkCount(expert.Vectors, ix.Len(), s.Passages)
}

// openFile opens the first of some files of the segment, which belong together, and keeps its key in o.keys; a file
// that is open already is shared. It fails if one of the files is missing or has another size than the manifest says.
func openFile[T io.Closer](
	o *opening, open func(path string) (T, error), entries ...manifest.SegmentFile,
) (out T, err error) {
	for _, f := range entries {
		path := filepath.Join(o.folder, f.Name)
		info, err := o.disk.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			return out, fmt.Errorf(
				"%s is missing: restore the collection from a snapshot, or index again (%w)", path, os.ErrNotExist,
			)
		}
		if err != nil {
			return out, err
		}
		if info.Size() != f.Size {
			return out, fmt.Errorf(
				"%s has %d bytes, the manifest says %d: the file is damaged; restore the collection from a snapshot, or index again",
				path, info.Size(), f.Size,
			)
		}
	}
	key := filepath.Join(o.folder, entries[0].Name)
	out, err = use(o.files, key, func() (T, error) { return open(key) })
	if err == nil {
		o.keys = append(o.keys, key)
	}
	return out, err
}

// checkCount returns an error unless n, the number of passages that file f has, is want, the number in the manifest.
func (o *opening) checkCount(f manifest.SegmentFile, n, want int) error {
	if n != want {
		return fmt.Errorf("%s is of %d passages, the manifest says %d", filepath.Join(o.folder, f.Name), n, want)
	}
	return nil
}

// fileSize returns the size of a file; 0 if it cannot be found out.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
