package provision

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// complaints is what pip writes to standard error. It is passed on as it
// comes, line by line, up to a traceback, which tells its authors something
// and nobody else; the end of all of it is kept for an error message.
type complaints struct {
	log   io.Writer // nil for silence
	kept  []byte
	line  []byte
	muted bool
}

func (c *complaints) Write(p []byte) (int, error) {
	c.kept = append(c.kept, p...)
	if over := len(c.kept) - 16<<10; over > 0 {
		c.kept = c.kept[over:]
	}
	c.line = append(c.line, p...)
	for {
		end := bytes.IndexByte(c.line, '\n')
		if end < 0 {
			return len(p), nil
		}
		c.pass(c.line[:end+1])
		c.line = c.line[end+1:]
	}
}

// finish passes on a last line without an end.
func (c *complaints) finish() {
	if len(c.line) > 0 {
		c.pass(append(c.line, '\n'))
		c.line = nil
	}
}

func (c *complaints) pass(line []byte) {
	text := strings.TrimSpace(string(line))
	if text == "ERROR: Exception:" || strings.HasPrefix(text, "Traceback (most recent call last)") {
		c.muted = true
	}
	if c.log != nil && !c.muted {
		_, _ = c.log.Write(line)
	}
}

// turns lets one write at a time: a command's two outputs are copied by two
// goroutines.
type turns struct {
	mu  sync.Mutex
	out io.Writer
}

func (t *turns) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(p)
}
