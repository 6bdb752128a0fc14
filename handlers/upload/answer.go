package upload

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"

	"example.org/conclave/handlers/schema"
)

// Answer receives the lines of an upload's answer.
type Answer interface {
	// Add appends values to the answer, each as a line of JSON.
	Add(lines ...any) error
	// Size returns how many bytes of the answer are kept so far; 0 if none are.
	Size() int64
	// Flush sends what can be sent already. It is called after a group of lines was added.
	Flush() error
	// Begun reports whether part of the answer has been sent.
	Begun() bool
	// Finish sends the rest of the answer. If nothing has been sent, head sets the headers, and a kept answer has this
	// status.
	Finish(status int, head func(http.Header)) error
	// Close frees what the answer holds. Call it in any case, after Finish.
	Close()
}

// Spool keeps an answer until the body has ended, in memory and beyond that in a temporary file: many clients read
// nothing before they have sent everything, and both sides would wait for each other.
type Spool struct {
	W       http.ResponseWriter
	Dir     string
	Extend  func()
	memory  []byte
	file    *os.File // unlinked already
	out     *bufio.Writer
	written int64
	lost    bool // there is no file; what comes now is why
}

// spoolMemory is how much of an answer is kept in memory.
const spoolMemory = 256 << 10

// Add appends lines to the answer. If the temporary file cannot be created, it returns the error and leaves out that
// line; later lines, which say why the upload ended, are kept in memory.
func (s *Spool) Add(lines ...any) error {
	for _, line := range lines {
		var b bytes.Buffer
		if err := schema.Encode(&b, line); err != nil {
			return err
		}
		text := b.Bytes()
		s.written += int64(len(text))
		if s.out == nil && (len(s.memory)+len(text) <= spoolMemory || s.lost) {
			s.memory = append(s.memory, text...)
			continue
		}
		if s.out == nil {
			if err := s.openFile(); err != nil {
				s.lost = true
				s.written = s.written - int64(len(text))
				return err
			}
		}
		if _, err := s.out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// openFile creates the temporary file and removes its name at once, so that nothing is left behind however the process
// ends. It fails if the file cannot be created.
func (s *Spool) openFile() (err error) {
	s.file, err = os.CreateTemp(s.Dir, "conclave-answer-")
	if err != nil {
		return err
	}
	_ = os.Remove(s.file.Name())
	s.out = bufio.NewWriterSize(s.file, 64<<10)
	return nil
}

// Size returns the bytes of the answer so far.
func (s *Spool) Size() int64 { return s.written }

// Begun returns false: nothing is sent before Finish.
func (s *Spool) Begun() bool { return false }

// Flush does nothing. It returns nil.
func (s *Spool) Flush() error { return nil }

// Finish sends the whole answer with this status. head sets its headers. It fails if the client is gone or the
// temporary file cannot be read.
func (s *Spool) Finish(status int, head func(http.Header)) error {
	var rest io.Reader
	if s.out != nil {
		if err := s.out.Flush(); err != nil {
			return err
		}
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		rest = s.file
	}
	head(s.W.Header())
	s.W.Header().Set("Content-Length", strconv.FormatInt(s.written, 10))
	s.W.WriteHeader(status)
	if _, err := s.W.Write(s.memory); err != nil || rest == nil {
		return err
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := rest.Read(buffer)
		if n > 0 {
			s.Extend()
			if _, err := s.W.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Close closes the temporary file, which deletes it.
func (s *Spool) Close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name()) // where an open file cannot be removed
	}
}

// Stream sends each line as soon as what it reports is durable, while the body still arrives. The client has to read
// while it sends.
type Stream struct {
	W       http.ResponseWriter
	Control *http.ResponseController
	Head    func(http.Header)
	Extend  func()
	started bool
}

// Add writes each value as a line of JSON; before the first one it sets the headers, and the status becomes 200. The
// server may buffer the lines until Flush. It fails if a value cannot be marshalled or the client is gone.
func (s *Stream) Add(lines ...any) error {
	if !s.started {
		s.started = true
		s.Head(s.W.Header())
	}
	s.Extend()
	var b bytes.Buffer
	for _, line := range lines {
		if err := schema.Encode(&b, line); err != nil {
			return err
		}
	}
	_, err := s.W.Write(b.Bytes())
	return err
}

// Size returns 0: nothing is kept.
func (s *Stream) Size() int64 { return 0 } // nothing of it is kept

// Begun reports whether something was sent.
func (s *Stream) Begun() bool { return s.started }

// Flush sends what the server has buffered. It fails if the connection does.
func (s *Stream) Flush() error { return s.Control.Flush() }

// Finish sets the headers if there were no lines, and always returns nil. It ignores its arguments: the status is 200.
func (s *Stream) Finish(int, func(http.Header)) error {
	if !s.started {
		s.Head(s.W.Header())
	}
	return nil
}

// Close does nothing.
func (s *Stream) Close() {}
