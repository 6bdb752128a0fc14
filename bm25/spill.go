package bm25

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"conclave/disk"
)

// spill writes the postings in memory to a temporary file, a run, and forgets
// them. The file has no name, so that nothing of it is left if the program is
// killed. A run is its terms, each with its length, its bytes, the length of its
// postings and these; a length of 0; its phrases, each with what its key is
// greater by than the one before (the first by one more than 0), the length of
// its postings and these. Numbers are varints.
func (b *Builder) spill() (err error) {
	if b.folder == "" {
		return errors.New("the index builder holds as many postings as it can address: give it a folder to spill to (SpillTo), or write smaller segments")
	}
	file, err := b.disk.CreateTemp(b.folder, "bm25-run-*")
	if err != nil {
		return fmt.Errorf("making a temporary file for postings: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	if err := b.disk.Remove(file.Name()); err != nil {
		return fmt.Errorf("unlinking a temporary file: %w", err)
	}
	out := bufio.NewWriterSize(file, 1<<18)
	var header, postings []byte
	s := b.source()
	put := func() {
		postings = s.appendPostings(postings[:0])
		header = binary.AppendUvarint(header, uint64(len(postings)))
		_, _ = out.Write(header) // bufio keeps the first error for Flush
		_, _ = out.Write(postings)
	}
	for text, err := s.next(); err == nil; text, err = s.next() {
		header = binary.AppendUvarint(header[:0], uint64(len(text)))
		header = append(header, text...)
		put()
	}
	_ = out.WriteByte(0)
	before := ^uint64(0) // one less than 0
	for key, err := s.nextPhrase(); err == nil; key, err = s.nextPhrase() {
		header = binary.AppendUvarint(header[:0], key-before)
		before = key
		put()
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing postings to a temporary file in %s: %w", b.folder, err)
	}
	b.runs = append(b.runs, file)
	clear(b.surfaces)
	clear(b.ids)
	b.terms, b.texts = b.terms[:0], 0
	b.phrases.reset(len(b.lengths))
	b.arena.reset()
	return nil
}

// damagedRun does not pass on the error as its own, which may be io.EOF.
func damagedRun(err error) error { return fmt.Errorf("%w: %v", errDamagedRun, err) }

// runSource reads a run back.
type runSource struct {
	in     *bufio.Reader
	term   []byte
	ended  bool   // after the last term
	key    uint64 // of the phrase, plus one
	length uint64
	buffer []byte
	unread bool // the postings of the term or phrase
}

func readRun(file disk.File) (*runSource, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading a temporary file again: %w", err)
	}
	return &runSource{in: bufio.NewReaderSize(file, 1<<16)}, nil
}

func (s *runSource) next() ([]byte, error) {
	if s.ended {
		return nil, io.EOF
	}
	n, err := s.number()
	if err != nil {
		return nil, damagedRun(err)
	}
	if s.ended = n == 0; s.ended {
		return nil, io.EOF
	}
	s.term = append(s.term[:0], make([]byte, n)...)
	if _, err := io.ReadFull(s.in, s.term); err != nil {
		return nil, damagedRun(err)
	}
	return s.term, s.open()
}

func (s *runSource) nextPhrase() (uint64, error) {
	more, err := s.number()
	if err != nil {
		return 0, err // io.EOF at the end
	}
	s.key += more
	return s.key - 1, s.open()
}

// number passes over what was not read, and reads a number; io.EOF at the end.
func (s *runSource) number() (uint64, error) {
	if s.unread {
		s.unread = false
		if _, err := io.CopyN(io.Discard, s.in, int64(s.length)); err != nil {
			return 0, damagedRun(err)
		}
	}
	return binary.ReadUvarint(s.in)
}

// open reads how long the postings are that follow.
func (s *runSource) open() (err error) {
	if s.length, err = binary.ReadUvarint(s.in); err != nil {
		return damagedRun(err)
	}
	s.unread = true
	return nil
}

func (s *runSource) postings(yield func(passage, tf uint32)) error {
	s.unread = false
	s.buffer = append(s.buffer[:0], make([]byte, s.length)...)
	if _, err := io.ReadFull(s.in, s.buffer); err != nil {
		return damagedRun(err)
	}
	return eachGap(s.buffer, yield)
}
