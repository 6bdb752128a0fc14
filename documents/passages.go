package documents

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"
	"time"

	"example.org/conclave/internal/corpus"
)

// About is what is known of a document besides its file. Zero values are left out of the passages.
type About struct {
	ID       string
	Source   string // where it is from, if that is not its id
	Title    string // in place of the one that the file names
	Root     string // the mark of the folder that it follows (MarkOf)
	Original string // where its file is kept (corpus.DocumentOriginalKey); "": it is not
	Modified time.Time
	Tags     []string
	Metadata map[string]any // flat; without the keys of corpus.DocumentKeys
}

// SumOf returns the SHA-256 of a file in hexadecimal.
func SumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// PassagesOf returns the passages of a document, of about `usual` words each (sizeOf), in the order of the text.
// data is the file, for its size and checksum. The passages have the ids ID#1, ID#2 and so on; the document's title
// with the headings as title; and the tags, metadata and places in the file that `about` and d give. They share
// Tags. If d was cut for `usual` words, its pieces are used. corpus.JoinDocument makes the text of the document
// from them.
func PassagesOf(about About, d *Document, data []byte, usual int) []corpus.Passage {
	if about.Title != "" {
		titled := *d
		titled.Title = about.Title
		d = &titled
	}
	pieces := d.pieces
	if d.cutAt != usual {
		pieces = Cut(d, usual, sizeOf)
	}
	common := map[string]any{
		corpus.DocumentKey: about.ID, corpus.DocumentSHA256Key: SumOf(data),
		corpus.DocumentPassagesKey: int64(len(pieces)), corpus.MediaTypeKey: d.MediaType,
		corpus.DocumentBytesKey: int64(len(data)),
	}
	maps.Copy(common, about.Metadata)
	if d.Title != "" {
		common[corpus.DocumentTitleKey] = d.Title
	}
	if about.Source != "" && about.Source != about.ID {
		common[corpus.DocumentSourceKey] = about.Source
	}
	if about.Root != "" {
		common[corpus.DocumentRootKey] = about.Root
	}
	if about.Original != "" {
		common[corpus.DocumentOriginalKey] = about.Original
	}
	if !about.Modified.IsZero() {
		common[corpus.ModifiedKey] = about.Modified.UTC().Format(time.RFC3339)
	}
	passages := make([]corpus.Passage, len(pieces))
	sureness := recognisedBlocks{d: d}
	last := 0
	var codePoints, utf16 int // of the text that was passed
	for i, piece := range pieces {
		metadata := maps.Clone(common)
		metadata[corpus.BeginKey], metadata[corpus.EndKey] = int64(piece.Begin), int64(piece.End)
		points, units := lengths(d.Text[last:piece.Begin])
		codePoints += points
		utf16 += units
		if codePoints != piece.Begin {
			metadata[corpus.BeginCodePointsKey], metadata[corpus.BeginUTF16Key] = int64(codePoints), int64(utf16)
		}
		points, units = lengths(d.Text[piece.Begin:piece.End])
		codePoints += points
		utf16 += units
		if len(piece.Headings) > 0 {
			metadata[corpus.HeadingKey] = strings.Join(piece.Headings, Below)
		}
		if piece.Page > 0 {
			metadata[corpus.PageKey] = int64(piece.Page)
			if piece.PageEnd > piece.Page {
				metadata[corpus.PageEndKey] = int64(piece.PageEnd)
			}
		}
		if confidence, recognised := sureness.least(piece); recognised {
			metadata[corpus.OCRConfidenceKey] = int64(confidence)
		}
		if gap := d.Text[last:piece.Begin]; i == 0 && gap != "" || i > 0 && gap != corpus.Gap {
			metadata[corpus.TextBeforeKey] = gap
		}
		last = piece.End
		if i == len(pieces)-1 && last < len(d.Text) {
			metadata[corpus.TextAfterKey] = d.Text[last:]
		}
		passages[i] = corpus.Passage{
			ID: corpus.PassageID(about.ID, i+1), Title: titleOfPiece(d, piece), Text: piece.Text(d),
			Tags: about.Tags, Metadata: metadata,
		}
	}
	return passages
}

// lengths returns the length of a text in code points and in UTF-16 code units.
func lengths(text string) (points, units int) {
	for _, r := range text {
		points++
		units++
		if r > 0xffff { // a surrogate pair
			units++
		}
	}
	return points, units
}

// Below separates the headings of a heading path in titles.
const Below = corpus.HeadingSeparator

// titleOfPiece returns the document's title and the piece's headings, joined by Below. A first heading that equals
// the title, in any case, is left out. It is "" without both.
func titleOfPiece(d *Document, p Piece) string {
	path := p.Headings
	if d.Title != "" && (len(path) == 0 || !strings.EqualFold(path[0], d.Title)) {
		path = append([]string{d.Title}, path...)
	}
	return strings.Join(path, Below)
}
