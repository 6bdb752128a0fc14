package folder

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/spelling"
	"example.org/conclave/store/folder/fields"
)

// writeTexts writes three files into the folder of a new segment: the spellings of its words, a fingerprint of each
// passage, and the index of the metadata. It fails if a text or the disk does, or ctx ends; some of the files may be
// there then.
func writeTexts(ctx context.Context, d disk.Disk, dir string, texts passages) (err error) {
	b := spelling.NewBuilder()
	values := fields.NewBuilder()
	values.SpillTo(d, dir)
	defer func() { err = errors.Join(err, values.Discard()) }()
	file, err := d.CreateFile(filepath.Join(dir, copiesName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	copies := bufio.NewWriter(file)
	_, _ = copies.WriteString(copiesMagic) // bufio keeps the first error for Flush
	for o := range rank.Ordinal(texts.Len()) {
		if o%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := texts.Passage(o)
		if err != nil {
			return err
		}
		b.Add(p.Title, p.Text)
		if err := values.Add(p.Metadata); err != nil {
			return err
		}
		_, _ = copies.Write(binary.LittleEndian.AppendUint64(nil, p.Fingerprint()))
	}
	if err := spelling.Write(d, filepath.Join(dir, spellingName), b.Lexicon()); err != nil {
		return err
	}
	if err := values.Write(d, filepath.Join(dir, fieldsName)); err != nil {
		return err
	}
	return copies.Flush()
}
