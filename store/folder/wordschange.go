package folder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// errWordsChanged is the error if the words of the collection were rebuilt while a
// new segment was made.
var errWordsChanged = errors.New("the words of the collection were rebuilt meanwhile: start again")

// WordParams returns the parameters with which the words of the collection in dir were indexed. It reads only the
// manifest, so it also works if another analyser made the words. It returns ErrNotCollection if there is none, and
// ErrUnfinished if its first build has not ended.
func WordParams(dir string) (bm25.Params, error) {
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		return bm25.Params{}, err
	}
	if m.Generation == 0 {
		return bm25.Params{}, fmt.Errorf("%s: %w: let it end, or build again", dir, ErrUnfinished)
	}
	return m.Words.Params(), nil
}

// rebuildWords analyses all texts again with params and publishes new files of words. If it fails, nothing changes.
// The files have new names, since a path always means the same content. Of o, only Progress and WordMemory count.
func (w *writer) rebuildWords(
	ctx context.Context,
	params bm25.Params,
	o store.BuildOptions,
) (store.BuildReport, error) {
	o.Experts = nil
	if err := errors.Join(o.Complete(), bm25.NewBuilder(params).Add("", "")); err != nil {
		return store.BuildReport{}, err // of Add, that there can be no such parameters
	}
	report, _, err := extend(ctx, w, o, extension[*manifest.SegmentFile]{
		stage: func(p store.Progress) bool { return p.Stage == store.Words },
		build: func(
			made *draft, dir string, texts *corpus.Store, r *reporter,
		) (*manifest.SegmentFile, []*manifest.SegmentFile, error) {
			f := &manifest.SegmentFile{Name: fmt.Sprintf("%s-%d", wordsName, w.number())}
			made.paths = append(made.paths, filepath.Join(dir, f.Name))
			return f, []*manifest.SegmentFile{f}, writeWords(ctx, w.disk, filepath.Join(dir, f.Name), texts, params, o, r)
		},
		enlist: func(m *manifest.Manifest) { m.Words = manifest.WordsOf(params) },
		assign: func(s *manifest.Segment, f *manifest.SegmentFile) { s.Words = *f },
	})
	return report, err
}
