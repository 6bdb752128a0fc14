package collection

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"conclave/bm25"
	"conclave/corpus"
	"conclave/disk"
)

// errWordsChanged is the error of a segment that was being made while the words
// of all others were rebuilt.
var errWordsChanged = errors.New("the words of the collection were rebuilt meanwhile: start again")

// WordParams are the constants that the words of the collection in dir were
// indexed with. It reads the manifest alone, so that it also answers when the
// words themselves cannot be used, since another analyser made them.
func WordParams(dir string) (bm25.Params, error) {
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		return bm25.Params{}, err
	}
	if m.Generation == 0 {
		return bm25.Params{}, fmt.Errorf("%s: %w: let it end, or build again", dir, ErrUnfinished)
	}
	return m.Words.params(), nil
}

// RebuildWords analyses all passages of the collection in dir anew, from their
// stored texts, and indexes their words with the given parameters (all of them;
// see WordParams). That is how a collection from before there were phrases gets
// them, and how one that another analyser made can be used again. A new file of
// words is written beside the old one in each segment, and nothing else; until
// the new manifest is there, readers see the collection as it was. Of the
// options, WordMemory and Progress count.
func RebuildWords(ctx context.Context, dir string, params bm25.Params, o BuildOptions) (report Report, err error) {
	w, err := OpenWriter(dir)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return w.RebuildWords(ctx, params, o)
}

// RebuildWords is the function RebuildWords, for a writer that is open.
func (w *Writer) RebuildWords(ctx context.Context, params bm25.Params, o BuildOptions) (report Report, err error) {
	o.Experts = nil
	if err := errors.Join(o.complete(), w.built(), bm25.NewBuilder(params).Add("", "")); err != nil {
		return report, err // of Add, that there can be no such parameters
	}
	m := w.snapshot()
	files, made := map[string]fileManifest{}, w.draft() // files by segment
	defer func() {
		made.discard()
		err = explainDisk(err)
	}()
	r := &reporter{to: o.Progress}
	all := int64(m.passages())
	for i := range m.Segments {
		s := &m.Segments[i]
		// Several segments are shown as one: passages analysed so far.
		before := int64(report.Passages)
		inner := &reporter{to: func(p Progress) {
			if p.Stage == Words {
				p.Done, p.Total = p.Done+before, all
			}
			r.report(p)
		}}
		f, err := w.rebuildWordsOf(ctx, made, s, params, o, inner)
		if err != nil {
			return report, fmt.Errorf("indexing the words of %s anew: %w", s.Name, err)
		}
		files[s.Name] = f
		report.Passages += s.Passages
		report.Bytes += f.Size
	}
	after, err := w.publish(ctx, made, func(m *manifest) error {
		m.Words = wordsOf(params)
		for i := range m.Segments {
			f, ok := files[m.Segments[i].Name]
			if !ok {
				return fmt.Errorf("segment %s came while the words were being rebuilt: start again", m.Segments[i].Name)
			}
			m.Segments[i].Words = f
		}
		return nil
	})
	if err != nil {
		return report, err
	}
	report.Generation, report.Recall = after.Generation, map[string]Recall{}
	return report, nil
}

// rebuildWordsOf makes a durable file of words beside that of a segment. Its
// name carries a number, since a path always means the same content.
func (w *Writer) rebuildWordsOf(ctx context.Context, made *draft, s *segmentManifest, params bm25.Params, o BuildOptions, r *reporter) (f fileManifest, err error) {
	dir := filepath.Join(w.dir, s.Name)
	store, err := corpus.OpenStore(sealedDisk{w.disk, s.files()}, filepath.Join(dir, s.Store.Name))
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	f.Name = fmt.Sprintf("%s-%d", wordsName, w.number())
	path := made.add(s.Name, f.Name)
	if err = writeWords(ctx, w.disk, path, store, params, o, r); err == nil {
		err = w.sealFiles(ctx, dir, []*fileManifest{&f}, r)
	}
	return f, err
}
