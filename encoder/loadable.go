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

// CheckTokenizer returns the error with which a bundle's tokenizer would be refused when the
// bundle is opened. It needs no runtime.
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

// Try opens a bundle of any kind as a server would and closes it again. It returns the error with which the server
// would refuse the bundle. For a delta, which cannot be opened by itself, it returns nil.
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
