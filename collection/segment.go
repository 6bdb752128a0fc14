package collection

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"conclave/ann"
	"conclave/bm25"
	"conclave/corpus"
	"conclave/rank"
)

// segment is an open segment in its place in a generation.
type segment struct {
	name    string
	base    rank.Ordinal // of its first passage in the generation
	store   *corpus.Store
	words   *bm25.Index
	tags    *segmentTags
	vectors map[string]ann.Index // by expert
	dead    tombstones
	live    *ann.Filter // what is not dead; nil is all
}

// parts says what of a segment is opened.
type parts int

const (
	everything parts = iota
	wordless         // the passages alone: what a writer needs
)

// openSegment opens the files that a manifest names and makes sure that they
// belong together. Sizes and headers are compared; contents are not read. It
// returns the keys it used in files, on errors too.
func openSegment(files *shared, dir string, m *manifest, s *segmentManifest, what parts) (_ *segment, keys []string, err error) {
	folder := filepath.Join(dir, s.Name)
	out := &segment{name: s.Name, vectors: map[string]ann.Index{}}
	for _, f := range s.files() {
		if err := checkSize(files.disk, folder, f); err != nil {
			return nil, keys, err
		}
	}
	d := sealedDisk{files.disk, s.files()}
	key := filepath.Join(folder, s.Store.Name)
	if out.store, err = use(files, key, func() (*corpus.Store, error) { return corpus.OpenStore(d, key) }); err != nil {
		return nil, keys, err
	}
	keys = append(keys, key)
	if n := out.store.Len(); n != s.Passages {
		return nil, keys, fmt.Errorf("%s has %d passages, the manifest says %d", key, n, s.Passages)
	}
	if s.Tombstones != nil {
		if out.dead, err = readTombstones(files.disk, folder, s); err != nil {
			return nil, keys, err
		}
		out.live = ann.FilterOf(out.dead.alive(s.Passages))
	}
	if what == wordless {
		return out, keys, nil
	}

	words := filepath.Join(folder, s.Words.Name)
	if out.words, err = use(files, words, func() (*bm25.Index, error) { return bm25.Open(d, words) }); err != nil {
		// The passages could be opened, and the words can be had from them.
		return nil, keys, fmt.Errorf("%w; or index the words anew, from the passages that are there: conclave index --collection %s --rebuild-words", err, dir)
	}
	keys = append(keys, words)
	if n := out.words.Docs(); n != s.Passages {
		return nil, keys, fmt.Errorf("%s has %d passages, the manifest says %d", words, n, s.Passages)
	}
	if p := out.words.Params(); p != m.Words.params() {
		return nil, keys, fmt.Errorf("%s was built with %+v, the manifest says %+v", words, p, m.Words.params())
	}
	byTag := filepath.Join(folder, tagsName)
	if out.tags, err = use(files, byTag, func() (*segmentTags, error) { return openTags(d, byTag, s.Tags != nil, out.store) }); err != nil {
		return nil, keys, err
	}
	keys = append(keys, byTag)
	for _, x := range m.Experts {
		ix, key, err := openIndex(files, d, folder, x, s.expert(x.Name))
		if err != nil {
			return nil, keys, err
		}
		keys = append(keys, key)
		out.vectors[x.Name] = ix
		if ix.Len() != s.Passages || ix.Dimension() != x.Dimension {
			return nil, keys, fmt.Errorf("%s has %d vectors of %d numbers, the manifest says %d of %d", key, ix.Len(), ix.Dimension(), s.Passages, x.Dimension)
		}
	}
	return out, keys, nil
}

func openIndex(files *shared, d disk, folder string, x expertManifest, s *segmentExpert) (ann.Index, string, error) {
	vectors, graph := filepath.Join(folder, s.Vectors.Name), ""
	if s.Graph != nil {
		graph = filepath.Join(folder, s.Graph.Name)
	}
	ix, err := use(files, vectors, func() (ann.Index, error) { return ann.Open(d, x.Index.Kind, vectors, graph) })
	return ix, vectors, err
}

// checkSize compares a file's size with the manifest's: the cheapest sign of a
// file that was cut, replaced, or lost.
func checkSize(d disk, folder string, f fileManifest) error {
	path := filepath.Join(folder, f.Name)
	info, err := d.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is missing: restore the collection from a snapshot, or index again (%w)", path, os.ErrNotExist)
	}
	if err != nil {
		return err
	}
	if info.Size() != f.Size {
		return fmt.Errorf("%s has %d bytes, the manifest says %d: the file is damaged; restore the collection from a snapshot, or index again", path, info.Size(), f.Size)
	}
	return nil
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
