package documents

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Holds reports whether a path holds documents: it is a folder that is not a BEIR data set, an archive, or a file of a
// format in Formats. It is false for JSON Lines and tables of values, which hold passages, and for what is not a
// regular file. The error says that the path cannot be read.
func Holds(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		for _, name := range []string{"corpus.jsonl", "corpus.jsonl.gz"} {
			if _, err := os.Stat(filepath.Join(path, name)); err == nil {
				return false, nil
			}
		}
		return true, nil
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return false, err
	}
	head = bytes.TrimLeft(head[:n], "\xEF\xBB\xBF \t\r\n")
	lower := strings.ToLower(path)
	if len(head) > 0 && head[0] == '{' || len(head) == 0 {
		return false, nil
	}
	switch Detect(head, path, "") {
	case CSV, TSV, "application/octet-stream":
		return false, nil
	case Gzip:
		return strings.HasSuffix(lower, ".tgz") || strings.HasSuffix(lower, ".tar.gz"), nil
	case Text:
		return formatOfEnding(filepath.Ext(lower)).MediaType == Text && !bytes.ContainsRune(bytes.SplitN(head, []byte("\n"), 2)[0], '\t'), nil
	}
	return true, nil
}
