package bm25

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/bm25/internal/words"
	"example.org/conclave/internal/disk"
)

const (
	// maxPassages is what one segment can hold; ordinals and gaps then fit in 31 bits.
	maxPassages = 1<<31 - 2
	// maxSurfaces bounds the memory of words already analysed.
	maxSurfaces = 1 << 20
	// termMemory is about what a distinct term costs in the builder in addition to its
	// postings: two map entries, the texts, its list.
	termMemory = 200

	stopWord = ^uint32(0)
	// otherForms marks a word with other forms: the rest is its place in sightings.
	// Terms have lower numbers.
	otherForms = 1 << 31
)

// A Builder collects passages and writes them as one segment. Passages get the
// ordinals 0, 1, 2, … in the order of Add. It is not safe for concurrent use.
//
// Analysis is remembered per distinct word, so that a passage costs little more
// than finding its words and looking them up; the stemmer runs once per word of
// the vocabulary. Postings wait compressed in memory, about three bytes each
// (a passage of 100 words: 250 bytes; for its phrases, its terms in their order
// and room to sort: 1.2 kB). Where there is more of them than SpillTo allows, they
// become segments of their own in temporary files, which Write merges.
type Builder struct {
	params   Params
	analyser forms.Analyser
	err      error // nothing can be added after it

	surfaces  map[string]uint32 // word as written → term, or otherForms and its place in sightings, or stopWord
	compounds map[string]uint32 // → place in sightings
	sightings []sighting
	otherIDs  []uint32          // other forms of sightings
	ids       map[string]uint32 // term → its number in terms
	terms     []builderTerm
	texts     int64 // bytes of terms and surfaces
	arena     arena
	touched   []uint32       // terms of the passage being added
	phrases   *phraseBuilder // nil: words alone
	lengths   []uint32       // terms in each passage
	impacts   impactCounts

	disk   disk.Disk
	folder string    // where parts are spilled to
	memory int64     // bytes at which to spill; 0: never
	parts  []Segment // of the passages before those in memory
}

type builderTerm struct {
	text     string
	postings arenaList
	last     uint32 // the last passage with it, plus one
	tf       uint32 // in the passage being added
}

// NewBuilder returns an empty builder. Impossible parameters are an error of the first Add, and of Write.
func NewBuilder(params Params) *Builder {
	b := &Builder{
		params:    params,
		err:       params.Check(),
		surfaces:  make(map[string]uint32),
		compounds: make(map[string]uint32),
		analyser:  forms.NewAnalyser(params.Analysis),
		ids:       make(map[string]uint32),
	}
	if params.Phrases {
		b.phrases = &phraseBuilder{}
	}
	return b
}

// SpillTo bounds the builder's memory to about this many bytes (and while writing 12 bytes a passage, 50 a distinct
// term and half a byte a distinct phrase). Beyond it, Add moves postings to a temporary file in folder, whose name is
// removed at once. Call it before the first Add.
func (b *Builder) SpillTo(d disk.Disk, folder string, memory int64) {
	b.disk = d
	b.folder = folder
	b.memory = max(memory, 1)
}

// Add indexes the next passage: its title and then its text, as one field. Any bytes are accepted (see Analyse). After
// an error nothing more can be added.
func (b *Builder) Add(title, text string) error {
	if b.err != nil {
		return b.err
	}
	if len(b.lengths) >= maxPassages {
		return fmt.Errorf("a segment holds at most %d passages: start another one", maxPassages)
	}
	length := b.addWords(title) + b.addWords(text)
	passage := uint32(len(b.lengths))
	indexed := roundLength(length)
	for _, id := range b.touched {
		b.post(&b.terms[id], passage, indexed)
	}
	b.touched = b.touched[:0]
	b.lengths = append(b.lengths, length)
	if b.memory > 0 && b.size() > b.memory || b.arena.full() || b.phrases.full() {
		b.err = b.spill(context.Background())
	}
	return b.err
}

// post appends the posting of a term for the passage being added, counts its impact, and sets t.tf to 0. indexed is the
// passage's length as the index keeps it (roundLength).
func (b *Builder) post(t *builderTerm, passage, indexed uint32) {
	// One varint holds the distance from the last passage, plus one, and in its
	// lowest bit whether tf is 1: most are.
	gap := uint64(passage+1-t.last) << 1
	if t.tf == 1 {
		b.arena.putVarint(&t.postings, gap|1)
	} else {
		b.arena.putVarint(&t.postings, gap)
		b.arena.putVarint(&t.postings, uint64(t.tf))
	}
	b.impacts.add(impact{t.tf, indexed})
	t.last = passage + 1
	t.tf = 0
}

// addWords counts a text's terms into the passage being added and returns how many there are. If phrases are indexed,
// it also keeps their order.
func (b *Builder) addWords(text string) (length uint32) {
	if b.analyser.Forms {
		return b.addWordsAndForms(text)
	}
	scanner := words.Of(text)
	for word := scanner.Next(); word != ""; word = scanner.Next() {
		id, ok := b.surfaces[word]
		if !ok {
			id = b.learn(word)
		}
		if id == stopWord {
			continue
		}
		b.count(id)
		if b.phrases != nil {
			b.phrases.add(id, length == 0)
		}
		length++
	}
	return length
}

// count counts one more occurrence of a term, or of another form, in the passage being added. id is the number of the
// term or form.
func (b *Builder) count(id uint32) {
	t := &b.terms[id]
	if t.tf == 0 {
		b.touched = append(b.touched, id)
	}
	t.tf++
}

// learn analyses a word that is not in b.surfaces, and returns what it adds there: the number of its term, otherForms
// with a place in sightings, or stopWord.
func (b *Builder) learn(word string) uint32 {
	b.forgetSurfaces(maxSurfaces)
	id := stopWord
	word = strings.Clone(word)
	if term := b.analyser.Term(word); len(term) > 0 {
		id = b.number(term)
		if b.analyser.Forms {
			id = b.withForms(word, id)
		}
	}
	b.surfaces[word] = id
	b.texts += int64(len(word))
	return id
}

// number returns the number of a term, or of another form with its mark; a new term gets the next number.
func (b *Builder) number(term []byte) uint32 {
	known, ok := b.ids[string(term)]
	if !ok {
		known = uint32(len(b.terms))
		text := string(term)
		b.ids[text] = known
		b.terms = append(b.terms, builderTerm{text: text})
		b.texts += int64(len(text))
	}
	return known
}

// size returns about how many bytes a spill would free.
func (b *Builder) size() int64 {
	return b.arena.size() + b.texts + termMemory*int64(len(b.terms)) + b.phrases.size()
}

// Write writes the segment to a file that appears at path only when it is whole and durable. It fails if an Add
// failed; then there is no file. The builder cannot be used any more.
func (b *Builder) Write(d disk.Disk, path string) error {
	return disk.ReplaceFile(d, path, func(out *disk.Replacement) error {
		_, err := b.WriteTo(context.Background(), out)
		return err
	})
}

// WriteTo writes the segment to out and returns its size in bytes. It fails if an Add failed, out does, or ctx ends;
// part of it may be written then. The builder cannot be used any more, and its temporary files are gone.
func (b *Builder) WriteTo(ctx context.Context, out io.Writer) (int64, error) {
	defer b.discard()
	if b.err != nil {
		return 0, b.err
	}
	b.err = errors.New("this builder has written its segment: make another one")
	if len(b.parts) == 0 {
		return b.writePart(ctx, out)
	}
	if err := b.spill(ctx); err != nil {
		return 0, err
	}
	b.forget()
	content, err := mergedContent(ctx, b.parts, oneAfterOther(b.parts))
	if err != nil {
		return 0, err
	}
	content.spool = spool{disk: b.disk, folder: b.folder}
	return writeSegment(ctx, out, content)
}

// writePart writes what is in memory as a segment and returns its size. It fails if out does or ctx ends.
func (b *Builder) writePart(ctx context.Context, out io.Writer) (int64, error) {
	from := b.source() // counts impacts
	return writeSegment(ctx, out, segmentContent{
		params: b.params, lengths: b.lengths, impacts: &b.impacts, terms: len(b.terms), sources: []termIterator{from},
	})
}

// spill writes what is in memory to a temporary file, adds that to b.parts and empties the memory. It fails if there is
// no folder for it (SpillTo).
func (b *Builder) spill(ctx context.Context) error {
	if b.folder == "" {
		return errors.New(
			"the index builder holds as many postings as it can address: give it a folder to spill to (SpillTo), or write smaller segments",
		)
	}
	part, err := b.writeTemporary(ctx)
	if err != nil {
		return fmt.Errorf("moving postings to a temporary file in %s: %w", b.folder, err)
	}
	b.parts = append(b.parts, Segment{Index: part})
	b.forgetSurfaces(0)
	clear(b.ids)
	b.terms = b.terms[:0]
	b.texts = 0
	b.lengths = b.lengths[:0]
	b.impacts = impactCounts{}
	b.phrases.reset()
	b.arena.reset()
	return nil
}

// writeTemporary writes what is in memory to a temporary file and opens it as an index. The file's name is removed at
// once, so that nothing of it is left when the program ends. It fails if the disk does or ctx ends.
func (b *Builder) writeTemporary(ctx context.Context) (*Index, error) {
	file, err := b.disk.CreateTemp(b.folder, "bm25-part-*")
	if err != nil {
		return nil, err
	}
	_, err = b.writePart(ctx, file)
	err = errors.Join(err, file.Close())
	if err != nil {
		return nil, errors.Join(err, b.disk.Remove(file.Name()))
	}
	part, err := Open(b.disk, file.Name())
	return part, errors.Join(err, b.disk.Remove(file.Name()))
}

// Discard frees the memory and the temporary files of a builder. It cannot be used any more. After Write it does
// nothing, so that it can be deferred.
func (b *Builder) Discard() {
	b.discard()
	b.err = errors.New("this builder was discarded: make another one")
}

// discard closes the parts that were written so far and drops all that was added.
func (b *Builder) discard() {
	for _, part := range b.parts {
		_ = part.Index.Close() // only read
	}
	b.parts = nil
	b.forget()
}

// forget frees the memory for what was added since the last spill.
func (b *Builder) forget() {
	b.terms, b.ids, b.phrases, b.lengths = nil, nil, nil, nil
	b.surfaces, b.compounds, b.sightings, b.otherIDs = nil, nil, nil, nil
	b.arena = arena{}
}
