package bm25

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"example.org/conclave/bm25/forms"

	"github.com/zeebo/xxh3"
)

// The file of a segment, little-endian throughout:
//
//	magic        16 bytes
//	postings     blocks, term after term in the order of the terms' bytes
//	phrases      runs of runPhrases phrases, the last of fewer, in the order of
//	             the first term's number and then the second's (numbers follow
//	             the terms' bytes); none without phrases
//	blocks       blockSize bytes for each block of a term, and then of a phrase,
//	             that has several
//	runs         runSize bytes for each run
//	terms        termSize bytes for each term, and one more that closes the last
//	texts        the terms' bytes, in order
//	slots        a hash table: 4 bytes a slot, a term's number plus one or 0
//	lengths      4 bytes for each passage: its number of terms
//	impacts      impactSize bytes for each impact, by rank
//	codes        4 bytes each: the rank that a one-byte code stands for
//	checksums    8 bytes for each chunk of chunkSize bytes of all the above
//	footer       footerSize bytes, with a checksum of itself and of the checksums
//
// Opening reads the footer, the checksums (one part in 8192) and the impacts (a
// few hundred); everything else is checked when it is first read, chunk by
// chunk, so that a damaged byte is an error and not a wrong answer, and opening
// does not take longer for more passages.
//
// A block holds up to blockPostings postings of one term:
//
//	head         1 byte: the width of gaps in bytes, 1 to 4; wideImpacts if it has ranks
//	gaps         to the passage before, which for the first is the last one of
//	             the block before or 0
//	codes        1 byte a posting: one of the commonest impacts, or otherImpact
//	ranks        4 bytes for each otherImpact
//
// and what is known of it without reading it (in blocks, or for a term of one
// block in terms): its last passage, where it starts, its largest rank.
//
// A run is its phrases, and then the blocks of those that are in several
// passages, one after the other. Most phrases are in one passage, and take about
// five bytes. A phrase, with numbers as varints (LEB128):
//
//	key          bit 0: it is in several passages. The rest: how much its second
//	             term's number is above that of the phrase before; 0 if its first
//	             term is another one than that phrase's
//	first term   only if it is another one: how much its number is above
//	second term  only if the first one is another: its number
//	posting      only if it is in one passage: the passage, in as many bytes as the
//	             segment's last one needs (1 to 4), the code, and 4 bytes of rank
//	             if that is otherImpact
//	df, length, rank
//	             only if it is in several: how many, the bytes of its blocks, and
//	             its largest rank
//
// The terms of a run's first phrase are in runs, and the rest of its key is 0.
// Looking a phrase up bisects runs and reads the phrases of one.
const (
	// magic is at the beginning and the end of files of all versions of the format, so
	// that decodeFooter can name the version of a file that it does not read.
	magic         = "conclave bm25 1\n"
	formatVersion = 2

	blockPostings = 128
	blockSize     = 12 // last passage, offset in the term's postings, largest rank: uint32 each
	termSize      = 24 // text uint32, df uint32, postings uint64, first block uint32, largest rank uint32
	runPhrases    = 64
	// first term uint32, second uint32, offset in phrases uint64, bytes of its phrases uint32, first block uint32
	runSize    = 24
	impactSize = 16 // tf uint32, length uint32, count uint64
	footerSize = 256
	chunkBits  = 16
	chunkSize  = 1 << chunkBits

	widthMask   = 0x07
	wideImpacts = 0x80
	otherImpact = 255 // codes below stand for an impact

	flagPhrases = 2
)

const (
	sectionPostings = iota
	sectionPhrases
	sectionBlocks
	sectionRuns
	sectionTerms
	sectionTexts
	sectionSlots
	sectionLengths
	sectionImpacts
	sectionCodes
	sectionChecksums
	sections
)

// span is a stretch of the file.
type span struct{ offset, length uint64 }

// footer describes the contents of a segment's file: counts, parameters and where the sections are.
type footer struct {
	params    Params
	analyser  uint32
	passages  uint32 // all
	withTerms uint32 // those with a term
	tokens    uint64 // Σ lengths
	terms     uint32
	phrases   uint64
	sections  [sections]span
	sums      uint64 // checksum of the checksums
}

// encode returns the footer's footerSize bytes, with its checksum and the magic at the end.
func (f *footer) encode() []byte {
	b := make([]byte, 0, footerSize)
	le := binary.LittleEndian
	flags := uint32(0)
	if f.params.Phrases {
		flags |= flagPhrases
	}
	for _, v := range [...]uint32{formatVersion, flags, f.analyser, f.passages, f.withTerms, f.terms} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range [...]uint64{f.tokens, math.Float64bits(f.params.K1), math.Float64bits(f.params.B), f.sums,
		f.phrases} {
		b = le.AppendUint64(b, v)
	}
	for _, s := range f.sections { // each begins where the one before ends
		b = le.AppendUint64(b, s.length)
	}
	b = append(b, make([]byte, footerSize-8-len(magic)-len(b))...)
	b = le.AppendUint64(b, xxh3.Hash(b))
	return append(b, magic...)
}

var errNotIndex = errors.New("this is no word index of this version, or its end is missing")

// decodeFooter returns the footer in the last footerSize bytes of a file of size bytes. It fails if the footer is
// damaged, of another format or analysis, or does not fit the file's size.
func decodeFooter(b []byte, size uint64) (*footer, error) {
	if len(b) != footerSize || string(b[footerSize-len(magic):]) != magic {
		return nil, errNotIndex
	}
	le := binary.LittleEndian
	at := footerSize - len(magic) - 8
	if xxh3.Hash(b[:at]) != le.Uint64(b[at:]) {
		return nil, errors.New("the footer's checksum is wrong")
	}
	words := func(i int) uint32 { return le.Uint32(b[4*i:]) }
	longs := func(i int) uint64 { return le.Uint64(b[24+8*i:]) }
	if v := words(0); v != formatVersion {
		return nil, fmt.Errorf("it has format %d and this program reads format %d: build it again", v, formatVersion)
	}
	flags := words(1)
	if more := flags &^ flagPhrases; more != 0 {
		return nil, fmt.Errorf(
			"it has a feature that this program does not know (flags %#x): use the program that wrote it, or build it again",
			more,
		)
	}
	f := &footer{
		params: Params{
			K1: math.Float64frombits(longs(1)), B: math.Float64frombits(longs(2)),
			Phrases: flags&flagPhrases != 0,
		},
		analyser:  words(2),
		passages:  words(3),
		withTerms: words(4),
		terms:     words(5),
		tokens:    longs(0),
		sums:      longs(3),
		phrases:   longs(4),
	}
	var known bool
	f.params.Analysis, known = forms.AnalysisOf(f.analyser)
	if !known {
		return nil, fmt.Errorf(
			"its passages were analysed by version %d of the analyser, which this program does not have: build it again",
			f.analyser,
		)
	}
	if err := f.params.Check(); err != nil {
		return nil, err
	}
	if f.passages > maxPassages || f.withTerms > f.passages {
		return nil, fmt.Errorf("it claims %d passages of which %d have terms", f.passages, f.withTerms)
	}
	end := uint64(len(magic))
	for i := range f.sections {
		s := span{end, longs(5 + i)}
		if s.length > size {
			return nil, fmt.Errorf("section %d lies at %d+%d in a file of %d bytes", i, s.offset, s.length, size)
		}
		f.sections[i] = s
		end += s.length
	}
	if end+footerSize != size {
		return nil, fmt.Errorf("it has %d bytes and should have %d", size, end+footerSize)
	}
	return f, f.checkLengths()
}

// checkLengths returns an error if the length of a section does not follow from the counts in the footer.
func (f *footer) checkLengths() error {
	// A phrase takes more than a byte: no sums of what follows can overflow.
	if f.phrases > f.sections[sectionPhrases].length {
		return fmt.Errorf("it claims %d phrases in %d bytes", f.phrases, f.sections[sectionPhrases].length)
	}
	chunks := (f.sections[sectionChecksums].offset + chunkSize - 1) / chunkSize
	for _, want := range [...]struct {
		section int
		length  uint64
	}{
		{sectionTerms, (uint64(f.terms) + 1) * termSize},
		{sectionRuns, runsFor(f.phrases) * runSize},
		{sectionSlots, 4 * uint64(slotsFor(f.terms))},
		{sectionLengths, 4 * uint64(f.passages)},
		{sectionChecksums, 8 * chunks},
	} {
		if got := f.sections[want.section].length; got != want.length {
			return fmt.Errorf("section %d has %d bytes and should have %d", want.section, got, want.length)
		}
	}
	if n := f.sections[sectionCodes].length; n%4 != 0 || n > 4*otherImpact {
		return fmt.Errorf("section %d has %d bytes", sectionCodes, n)
	}
	for section, unit := range map[int]uint64{sectionBlocks: blockSize, sectionImpacts: impactSize} {
		if n := f.sections[section].length; n%unit != 0 || n/unit > math.MaxUint32 {
			return fmt.Errorf("section %d has %d bytes, not a multiple of %d", section, n, unit)
		}
	}
	return nil
}

// runsFor returns the number of runs that n phrases fill.
func runsFor(n uint64) uint64 { return (n + runPhrases - 1) / runPhrases }

// slotsFor returns the size of the hash table for n terms: a power of two, at least 2, of which at most two thirds are
// used.
func slotsFor(n uint32) uint32 {
	slots := uint64(1)
	for 2*slots < 3*uint64(n) {
		slots *= 2
	}
	return uint32(max(slots, 2))
}

// hashTerm returns the hash that a term's slot in the hash table follows from.
func hashTerm(term []byte) uint64 { return xxh3.Hash(term) }
