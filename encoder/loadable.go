package encoder

import (
	"errors"
	"fmt"

	"example.org/conclave/encoder/unigram"
	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
)

// mostTokenizer bounds a generator's tokenizer, in bytes.
const mostTokenizer = 256 << 20

// CheckTokenizer returns an error if opening the bundle would fail because of its tokenizer's file. It needs no
// runtime. A bundle without a tokenizer of its own, such as a delta, passes.
func CheckTokenizer(b *models.Bundle) error {
	m := &b.Manifest
	switch {
	case m.Tokenizer == "": // a delta's is its base's, and a head has none
		return nil
	case m.Generator != nil:
		data, err := disk.ReadRegular(b.Path(m.Tokenizer), mostTokenizer)
		if err == nil {
			_, err = unigram.Parse(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b.Path(m.Tokenizer), err)
		}
		return nil
	}
	_, err := openTokenizer(b, nil)
	return err
}

// Try opens a bundle of any kind as a server would and closes it again. It returns an error if one of both fails. A
// delta cannot be opened by itself: for it Try does nothing and returns nil.
func (r *Runtime) Try(b *models.Bundle) error {
	m := &b.Manifest
	var opened interface{ Close() error }
	var err error
	switch {
	case m.Delta != "":
		return nil
	case m.Generator != nil:
		opened, err = r.OpenGenerator(b, Running{})
	case m.Kind == models.KindReader:
		opened, err = r.OpenReader(b, Running{})
	case m.Kind == models.KindReranker:
		opened, err = r.OpenReranker(b, Running{})
	case m.Head != nil:
		opened, err = r.OpenHead(b)
	default:
		opened, err = r.Open(b, Running{})
	}
	if err != nil {
		return err
	}
	return errors.Join(err, opened.Close())
}
