package bm25

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/zeebo/xxh3"

	"example.org/conclave/internal/disk"
)

// segmentContent is the content of a segment to be written.
type segmentContent struct {
	params  Params
	lengths []uint32 // terms in each passage
	impacts *impactCounts
	terms   int            // how many there are at least, as far as is known
	sources []termIterator // one of a builder, or segments that are merged
	// spool has the folder for temporary files while the segment is written; the zero value keeps all in memory.
	spool spool
}

// segmentWriter writes the sections of a file one after the other. Postings and phrases
// are written at once. The entries of later sections are kept until then: those of
// blocks and runs of phrases in memory (a tenth of a byte per posting, 24 bytes per 64
// phrases), those of terms in spools, which may be files (24 bytes and its text per term).
type segmentWriter struct {
	out          *bufio.Writer
	sums         *disk.ChunkSums
	footer       footer
	blocks       []byte
	terms, texts spool
	hashes       []uint32 // of each term, of which a slot needs no more

	written uint64 // bytes of postings, and then of phrases
	merged  interleaver
	posting postingWriter
	run     phraseWriter
}

// writeSegment writes the whole file of a segment to out and returns its size. It fails if a source or out does, or ctx
// ends.
func writeSegment(ctx context.Context, out io.Writer, c segmentContent) (int64, error) {
	w := &segmentWriter{sums: disk.NewChunkSums(chunkBits)}
	w.out = bufio.NewWriterSize(io.MultiWriter(out, w.sums), 1<<18)
	w.footer = footer{
		params:   c.params,
		analyser: c.params.Analysis.Version(),
		passages: uint32(len(c.lengths)),
	}
	for _, n := range c.lengths {
		w.footer.tokens += uint64(n)
		if n > 0 {
			w.footer.withTerms++
		}
	}
	ranked := c.impacts.ranked(c.params, averageLength(w.footer.tokens, uint64(w.footer.withTerms)))
	common := commonest(ranked, otherImpact)
	w.posting = newPostingWriter(c.lengths, ranked, common)
	w.run.width = passageWidth(uint32(len(c.lengths)))

	w.hashes = make([]uint32, 0, c.terms)
	w.terms, w.texts = c.spool, c.spool
	defer func() { _, _ = w.terms.discard(), w.texts.discard() }() // an error was returned by then
	w.write([]byte(magic))
	w.footer.sections[sectionPostings].offset = uint64(len(magic))
	if err := w.addTerms(ctx, c.sources); err != nil {
		return 0, err
	}
	w.section(sectionBlocks, w.blocks)
	w.section(sectionRuns, w.run.heads)
	if err := errors.Join(w.spoolSection(sectionTerms, &w.terms), w.spoolSection(sectionTexts, &w.texts)); err != nil {
		return 0, fmt.Errorf("writing a word index: %w", err)
	}
	w.section(sectionSlots, w.hashTable())
	w.section(sectionLengths, packed(c.lengths))
	w.section(sectionImpacts, packedImpacts(ranked))
	w.section(sectionCodes, packed(common))
	if err := w.out.Flush(); err != nil {
		return 0, fmt.Errorf("writing a word index: %w", err)
	}
	sums := w.sums.Sums()
	w.footer.sums = xxh3.Hash(sums)
	w.section(sectionChecksums, sums)
	w.write(w.footer.encode())
	if err := w.out.Flush(); err != nil {
		return 0, fmt.Errorf("writing a word index: %w", err)
	}
	end := w.footer.sections[sectionChecksums]
	return int64(end.offset + end.length + footerSize), nil
}

// write appends bytes to the file. Its errors are returned by Flush of the writer.
func (w *segmentWriter) write(b []byte) { _, _ = w.out.Write(b) }

// section writes b as section number i. Sections must be written in the order of their numbers, without gaps. Its
// errors are returned by Flush of the writer.
func (w *segmentWriter) section(i int, b []byte) {
	w.write(b)
	w.closeSection(i, uint64(len(b)))
}

// spoolSection writes the content of a spool as section number i, and frees it. It returns the first error of the
// spool or of the output.
func (w *segmentWriter) spoolSection(i int, s *spool) error {
	err := s.copyTo(w.out)
	w.closeSection(i, s.length)
	return err
}

// closeSection sets the length of section number i in the footer, and where the next one begins.
func (w *segmentWriter) closeSection(i int, length uint64) {
	s := &w.footer.sections[i]
	s.length = length
	if i+1 < sections {
		w.footer.sections[i+1].offset = s.offset + length
	}
}

// addTerms writes the postings of all terms of the sources, and then all phrases, unless all passages of one were
// deleted. It fails if a source does or ctx ends; some errors of writing are only returned by Flush.
func (w *segmentWriter) addTerms(ctx context.Context, sources []termIterator) error {
	numbers := make([][]uint32, len(sources)) // of each source's terms: theirs here
	from := make([]termIterator, 0, len(sources))
	chosen := func(having []int) []termIterator {
		from = from[:0]
		for _, i := range having {
			from = append(from, sources[i])
		}
		return from
	}
	nextTerm := func(i int) ([]byte, error) { return sources[i].next() }
	err := mergeSorted(ctx, len(sources), nextTerm, bytes.Compare, func(term []byte, having []int) error {
		number := w.footer.terms
		if err := w.addTerm(term, chosen(having)); err != nil {
			return err
		}
		if number == w.footer.terms {
			number = gone
		}
		if w.footer.params.Phrases {
			for _, i := range having {
				numbers[i] = append(numbers[i], number)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.addRecord(0, 0)
	w.closeSection(sectionPostings, w.written)
	w.written = 0
	if w.footer.params.Phrases {
		nextPhrase := func(i int) (uint64, error) { return nextMerged(sources[i], i, numbers[i]) }
		err := mergeSorted(ctx, len(sources), nextPhrase, cmp.Compare[uint64], func(key uint64, having []int) error {
			return w.addPhrase(key, chosen(having))
		})
		if err != nil {
			return err
		}
		w.closeRun()
	}
	w.closeSection(sectionPhrases, w.written)
	return nil
}

// readPostings reads the postings of the term or phrase that the sources stand at into w.posting. some is false if
// all its passages were deleted. It fails if a source does or the postings are too long.
func (w *segmentWriter) readPostings(from []termIterator) (some bool, err error) {
	p := &w.posting
	p.reset()
	if err := w.merged.visit(from, p.add); err != nil {
		return false, err
	}
	return p.df > 0, p.err
}

// addTerm writes a term and its postings, unless all its passages were deleted. It fails if the vocabulary is too large
// for a segment.
func (w *segmentWriter) addTerm(term []byte, from []termIterator) error {
	p := &w.posting
	some, err := w.readPostings(from)
	p.flush()
	err = cmp.Or(err, p.err)
	if err != nil {
		return fmt.Errorf("writing term %q: %w", term, err)
	}
	if !some {
		return nil
	}
	if w.texts.length+uint64(len(term)) > math.MaxUint32 || w.footer.terms == math.MaxInt32 {
		return errors.New("the vocabulary is larger than one segment can hold: write smaller segments")
	}
	w.addRecord(p.df, p.high)
	w.write(p.out)
	w.written += uint64(len(p.out))
	if p.df > blockPostings {
		w.blocks = append(w.blocks, p.blocks...)
	}
	w.texts.append(term)
	w.hashes = append(w.hashes, uint32(hashTerm(term)))
	w.footer.terms++
	return nil
}

// addRecord appends the record of the next term: where its text, postings and blocks begin, how many passages have
// it, and its largest rank. A record of zeros closes the last term. df is that number of passages, high that rank.
func (w *segmentWriter) addRecord(df, high uint32) {
	le := binary.LittleEndian
	var record [termSize]byte
	le.PutUint32(record[:], uint32(w.texts.length))
	le.PutUint32(record[4:], df)
	le.PutUint64(record[8:], w.written)
	le.PutUint32(record[16:], uint32(len(w.blocks)/blockSize))
	le.PutUint32(record[20:], high)
	w.terms.append(record[:])
}

// hashTable returns the bytes of the hash table of all terms: slotsFor slots of four bytes, each 0 or a term's number
// plus one, with linear probing.
func (w *segmentWriter) hashTable() []byte {
	n := slotsFor(w.footer.terms)
	table := make([]byte, 4*n)
	for id, hash := range w.hashes {
		slot := hash & (n - 1)
		for binary.LittleEndian.Uint32(table[4*slot:]) != 0 {
			slot = (slot + 1) & (n - 1)
		}
		binary.LittleEndian.PutUint32(table[4*slot:], uint32(id)+1)
	}
	return table
}

// packed returns each number as four bytes, little-endian.
func packed(values []uint32) []byte {
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}

// packedImpacts returns the section of impacts with their counts, impactSize bytes each.
func packedImpacts(ranked []countedImpact) []byte {
	out := make([]byte, 0, impactSize*len(ranked))
	for _, c := range ranked {
		out = binary.LittleEndian.AppendUint32(out, c.tf)
		out = binary.LittleEndian.AppendUint32(out, c.length)
		out = binary.LittleEndian.AppendUint64(out, c.count)
	}
	return out
}
