package folder

import (
	"context"
	"encoding/binary"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/spelling"
)

// writeTexts writes what a new segment has of the texts of its passages beside BM25's words:
// the words as they are written, and a fingerprint of each passage.
func writeTexts(ctx context.Context, d disk.Disk, dir string, texts passages) error {
	b := spelling.NewBuilder()
	fingerprints := make([]byte, 0, len(copiesMagic)+8*texts.Len())
	fingerprints = append(fingerprints, copiesMagic...)
	for o := range rank.Ordinal(texts.Len()) {
		if o%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := texts.Passage(o)
		if err != nil {
			return err
		}
		b.Add(p.Title, p.Text)
		fingerprints = binary.LittleEndian.AppendUint64(fingerprints, p.Fingerprint())
	}
	if err := spelling.Write(d, filepath.Join(dir, spellingName), b.Lexicon()); err != nil {
		return err
	}
	return d.WriteFile(filepath.Join(dir, copiesName), fingerprints)
}
