package bm25

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// A source yields terms in the order of their bytes, each with its postings by
// ascending passage: what a builder has in memory, a run that it spilled, or a
// segment that is being merged.
type source interface {
	// next moves to the next term; io.EOF after the last. The bytes are valid
	// until the next call.
	next() (term []byte, err error)
	// postings yields the postings of the term, once.
	postings(yield func(passage, tf uint32)) error
}

// mergeSources visits every term of several sources once, with the sources that
// have it, in their order.
func mergeSources(ctx context.Context, sources []source, visit func(term []byte, from []source) error) error {
	terms := make([][]byte, len(sources))
	advance := func(i int) (err error) {
		if terms[i], err = sources[i].next(); errors.Is(err, io.EOF) {
			terms[i], err = nil, nil
		}
		return err
	}
	for i := range sources {
		if err := advance(i); err != nil {
			return err
		}
	}
	var from []source
	var least []byte
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		least, from = least[:0], from[:0]
		for i, term := range terms {
			if term != nil && (len(from) == 0 || bytes.Compare(term, least) < 0) {
				least, from = append(least[:0], term...), append(from[:0], sources[i])
			} else if term != nil && bytes.Equal(term, least) {
				from = append(from, sources[i])
			}
		}
		if len(from) == 0 {
			return nil
		}
		if err := visit(least, from); err != nil {
			return err
		}
		for i := range sources {
			if terms[i] != nil && bytes.Equal(terms[i], least) {
				if err := advance(i); err != nil {
					return err
				}
			}
		}
	}
}

// oneAfterOther visits the postings of the term that the sources stand at. Their
// passages ascend from each source to the next.
func oneAfterOther(from []source, yield func(passage, tf uint32)) error {
	for _, s := range from {
		if err := s.postings(yield); err != nil {
			return err
		}
	}
	return nil
}

// arenaSource is what a builder holds in memory.
type arenaSource struct {
	builder *Builder
	order   []uint32
	at      int // place in order, plus one
	term    []byte
	list    list
	buffer  []byte
}

func (s *arenaSource) next() ([]byte, error) {
	if s.at == len(s.order) {
		return nil, io.EOF
	}
	s.at++
	s.term, s.list = s.builder.entry(s.order[s.at-1], s.term[:0])
	return s.term, nil
}

func (s *arenaSource) postings(yield func(passage, tf uint32)) error {
	s.buffer = s.builder.arena.appendTo(s.buffer[:0], s.list)
	return eachGap(s.buffer, yield)
}

var errDamagedRun = errors.New("a temporary file of the index builder changed while it was in use")

// eachGap decodes postings as a builder keeps them.
func eachGap(b []byte, yield func(passage, tf uint32)) error {
	passage := uint64(0)
	for len(b) > 0 {
		gap, n := binary.Uvarint(b)
		if n <= 0 {
			return errDamagedRun
		}
		b = b[n:]
		tf := uint64(1)
		if gap&1 == 0 {
			if tf, n = binary.Uvarint(b); n <= 0 {
				return errDamagedRun
			}
			b = b[n:]
		}
		passage += gap >> 1
		yield(uint32(passage-1), uint32(tf))
	}
	return nil
}

// spill writes the postings in memory to a temporary file and forgets them. The
// file has no name, so that nothing of it is left if the program is killed.
func (b *Builder) spill() (err error) {
	if b.folder == "" {
		return errors.New("the index builder holds as many postings as it can address: give it a folder to spill to (SpillTo), or write smaller segments")
	}
	file, err := os.CreateTemp(b.folder, "bm25-run-*")
	if err != nil {
		return fmt.Errorf("making a temporary file for postings: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	if err := os.Remove(file.Name()); err != nil {
		return fmt.Errorf("unlinking a temporary file: %w", err)
	}
	out := bufio.NewWriterSize(file, 1<<18)
	var header, text, postings []byte
	for _, number := range b.all() {
		var l list
		text, l = b.entry(number, text[:0])
		postings = b.arena.appendTo(postings[:0], l)
		header = binary.AppendUvarint(header[:0], uint64(len(text)))
		header = append(header, text...)
		header = binary.AppendUvarint(header, uint64(len(postings)))
		_, _ = out.Write(header) // bufio keeps the first error for Flush
		_, _ = out.Write(postings)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing postings to a temporary file in %s: %w", b.folder, err)
	}
	b.runs = append(b.runs, file)
	clear(b.surfaces)
	clear(b.ids)
	b.terms, b.texts = b.terms[:0], 0
	b.phrases.reset()
	b.arena.reset()
	return nil
}

// runSource reads a run back.
type runSource struct {
	in     *bufio.Reader
	term   []byte
	length uint64
	buffer []byte
	unread bool // the postings of the term
}

func readRun(file *os.File) (*runSource, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading a temporary file again: %w", err)
	}
	return &runSource{in: bufio.NewReaderSize(file, 1<<16)}, nil
}

func (s *runSource) next() ([]byte, error) {
	if s.unread {
		if _, err := io.CopyN(io.Discard, s.in, int64(s.length)); err != nil {
			return nil, fmt.Errorf("%w: %w", errDamagedRun, err)
		}
		s.unread = false
	}
	n, err := binary.ReadUvarint(s.in)
	if err != nil {
		return nil, err // io.EOF at the end
	}
	s.term = append(s.term[:0], make([]byte, n)...)
	if _, err := io.ReadFull(s.in, s.term); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamagedRun, err)
	}
	if s.length, err = binary.ReadUvarint(s.in); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamagedRun, err)
	}
	s.unread = true
	return s.term, nil
}

func (s *runSource) postings(yield func(passage, tf uint32)) error {
	s.unread = false
	s.buffer = append(s.buffer[:0], make([]byte, s.length)...)
	if _, err := io.ReadFull(s.in, s.buffer); err != nil {
		return fmt.Errorf("%w: %w", errDamagedRun, err)
	}
	return eachGap(s.buffer, yield)
}
