package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// encodedTogether returns a vectorMaker for each encoder's expert. Two experts of o.Shared are encoded in one pass: the
// first one's maker makes the vectors of both, and the second one's takes them.
func encodedTogether(
	plan *manifest.Manifest,
	encoders []store.PassageEncoder,
	o store.BuildOptions,
) map[string]vectorMaker {
	makers := map[string]vectorMaker{}
	for _, e := range encoders {
		makers[e.Name()] = encodedBy(e, o)
	}
	asked := func(e store.PassageEncoder) *manifest.Expert {
		if x := plan.Expert(e.Name()); x != nil && makers[x.Name] != nil && x.Fingerprint == e.Fingerprint() &&
			!x.Parts &&
			x.Owner == "" {
			return x
		}
		return nil
	}
	for _, s := range o.Shared {
		if late, dense := asked(s.Late), asked(s.Dense); late != nil && dense != nil {
			pass := &sharedPass{
				encode:  s.Encode,
				reader:  s.Dense,
				experts: [2]manifest.Expert{*late, *dense},
				options: o,
			}
			makers[late.Name], makers[dense.Name] = pass.vectors, pass.vectors
		}
	}
	return makers
}

// sharedPass encodes one segment's passages for two experts in one pass.
type sharedPass struct {
	encode  func(context.Context, []corpus.Passage) (late, dense [][]float32, err error)
	reader  store.PassageEncoder // says in which windows both read long passages
	experts [2]manifest.Expert   // in this order
	options store.BuildOptions
	made    vectorPaths // the files of the one whose turn is still to come
}

// vectors is the vectorMaker of both experts. The first call, for x, encodes for both, and writes the vectors of x to
// the files to, and those of the other expert to temporary files. The second call renames these to its own to. If
// the first call fails or ctx ends, it removes what it made.
func (s *sharedPass) vectors(
	ctx context.Context,
	d disk.Disk,
	to vectorPaths,
	texts passages,
	x manifest.Expert,
	r *reporter,
) (err error) {
	if s.made.vectors != "" {
		return s.takeMade(d, to)
	}
	other := vectorPaths{vectors: to.vectors + ".other", parts: to.vectors + ".otherparts"}
	paths := [2]vectorPaths{to, other}
	if s.experts[1].Name == x.Name {
		slices.Reverse(paths[:])
	}
	var files [2]vectorFile
	for i, x := range s.experts {
		files[i], err = createVectors(d, paths[i], x)
		if err != nil {
			files[0].abort()
			return err
		}
	}
	defer func() {
		for i := range files {
			files[i].abort()
		}
		if err != nil {
			_ = d.Remove(other.vectors) // else the next writer does
			_ = d.Remove(other.parts)
		}
	}()
	name := s.experts[1].Name + " and " + s.experts[0].Name
	err = eachBatch(ctx, texts, name, s.options, r, func(batch []corpus.Passage) error {
		w := windowed(s.reader, batch)
		var made [2][][]float32
		for some := range slices.Chunk(w.texts, max(1, s.options.BatchPassages)) {
			late, dense, err := s.encode(ctx, some)
			if err == nil && (len(late) != len(some) || len(dense) != len(some)) {
				err = fmt.Errorf(
					"the encoders gave %d and %d vectors for %d passages", len(late), len(dense), len(some),
				)
			}
			if err != nil {
				return err
			}
			made[0] = append(made[0], late...)
			made[1] = append(made[1], dense...)
		}
		for i := range files {
			if err := files[i].appendWindowed(w, made[i]); err != nil {
				return fmt.Errorf("%s: %w", s.experts[i].Name, err)
			}
		}
		return nil
	})
	for i := range files {
		if err == nil {
			err = files[i].close()
		}
	}
	if err == nil {
		s.made = other
	}
	return err
}

// takeMade renames the temporary files that the first call of vectors made to those of the second call's expert. The
// file of parts may be missing. It fails if the vectors' file cannot be renamed.
func (s *sharedPass) takeMade(d disk.Disk, to vectorPaths) error {
	if err := d.Rename(s.made.vectors, to.vectors); err != nil {
		return err
	}
	if to.parts == "" {
		return nil
	}
	if _, err := d.Stat(s.made.parts); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.Rename(s.made.parts, to.parts)
}
