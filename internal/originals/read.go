package originals

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
)

// RootsName is the file in a collection's folder that has the paths of the folders its documents follow, by their marks
// (documents.RootOf), as a JSON object.
const RootsName = "roots.json"

// ErrGone is the error of an original that is not kept, or whose file was changed or removed since it was read.
var ErrGone = errors.New("the file that the document was read from is not kept, or was changed or removed since")

// Reader opens originals. It is safe for concurrent use.
type Reader struct {
	Collection string               // the collection's folder; "": it has none
	Roots      []string             // folders that are followed, beside those in RootsName
	Unpack     *documents.Extractor // finds files in archives and mails
}

// Original is an open original. Close it when done.
type Original struct {
	io.ReadSeeker
	Bytes  int64
	closes func() error
}

// Close closes the file. It fails if closing does.
func (o *Original) Close() error { return o.closes() }

// Open returns the original of a document; the caller closes it. It reads a file of a followed folder whole, to
// compare its SHA-256. The error is ErrGone if there is none that has the document's SHA-256. room is called with
// the size of a file that has to be read into memory, since the original lies in an archive; its error is returned.
func (r *Reader) Open(ctx context.Context, d *corpus.Document, room func(bytes int) error) (*Original, error) {
	sum, err := hex.DecodeString(d.SHA256)
	if err != nil || len(sum) != sha256.Size {
		return nil, ErrGone
	}
	switch {
	case d.Original == corpus.OriginalCopy && r.Collection != "":
		return asOriginal(os.Open(filepath.Join(r.Collection, FolderName, d.SHA256)))
	case d.Original != "file":
		return nil, ErrGone
	}
	root, err := r.rootPath(d.Root)
	if err != nil {
		return nil, err
	}
	file, err := openBelow(root, d.OriginalPath)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil && bytes.Equal(hash.Sum(nil), sum) {
		return file, nil
	}
	if err == nil {
		return r.openMember(ctx, file, d, [sha256.Size]byte(sum), room)
	}
	return nil, errors.Join(err, file.Close())
}

// Draw returns a page of the original of a document, which has to be a PDF, numbered from 1, with the words of a
// text marked; "" marks none. room is called with the size of the original before it is read into memory. The error
// is that of Open or room, or an *documents.UnreadableError.
func (r *Reader) Draw(
	ctx context.Context,
	d *corpus.Document,
	page int,
	mark string,
	room func(bytes int) error,
) (drawn documents.DrawnPage, err error) {
	original, err := r.Open(ctx, d, room)
	if err != nil {
		return drawn, err
	}
	defer func() { err = errors.Join(err, original.Close()) }()
	if err := room(int(min(original.Bytes, r.Unpack.Limits().FileBytes))); err != nil {
		return drawn, err
	}
	data, err := io.ReadAll(io.LimitReader(original, r.Unpack.Limits().FileBytes))
	if err != nil {
		return drawn, err
	}
	return r.Unpack.DrawPage(ctx, data, page, mark)
}

// asOriginal returns a file that os.Open has opened, or failed to open, as an Original. If it is absent or no
// regular file, which it then closes, the error is ErrGone; a lack of permission is returned as it is.
func asOriginal(file *os.File, err error) (*Original, error) {
	if err != nil {
		if os.IsPermission(err) {
			return nil, err
		}
		return nil, ErrGone
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() {
		return &Original{ReadSeeker: file, Bytes: info.Size(), closes: file.Close}, nil
	}
	return nil, errors.Join(ErrGone, err, file.Close())
}

// openBelow opens the regular file at a path with slashes below a root, or the root itself (path "."). No link
// leads out of the root. The error is ErrGone if there is no such file.
func openBelow(root, path string) (*Original, error) {
	if info, err := os.Stat(root); err != nil || path == "." && !info.Mode().IsRegular() {
		return nil, ErrGone
	}
	if path == "." {
		return asOriginal(os.Open(root))
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, ErrGone
	}
	local := filepath.FromSlash(path)
	// A pipe would wait for its writer.
	info, err := dir.Stat(local)
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(ErrGone, dir.Close())
	}
	file, err := asOriginal(dir.Open(local))
	return file, errors.Join(err, dir.Close())
}

// rootPath returns the path of the root of documents with a mark (documents.MarkOf). The error is ErrGone if it is not
// known.
func (r *Reader) rootPath(mark string) (string, error) {
	mark, _ = documents.SplitMark(mark)
	if mark == "" {
		return "", ErrGone
	}
	for _, root := range r.Roots {
		if own, err := documents.RootOf(root); err == nil && own == mark {
			return root, nil
		}
	}
	roots, err := readRoots(disk.OS{}, r.Collection)
	if err != nil {
		return "", err
	}
	if root, ok := roots[mark]; ok {
		return root, nil
	}
	return "", ErrGone
}

// errFound ends the unpacking of an archive.
var errFound = errors.New("the file was found")

// openMember returns the file with a sum that is in the archive outer or attached to the mail outer, which it
// closes. room is called with the archive's size before that is read into memory. The error is ErrGone if there is
// no such file.
func (r *Reader) openMember(
	ctx context.Context,
	outer *Original,
	d *corpus.Document,
	sum [sha256.Size]byte,
	room func(bytes int) error,
) (*Original, error) {
	most := r.Unpack.Limits().FileBytes
	if outer.Bytes > most || strings.HasSuffix(d.ID, d.OriginalPath) { // it is the file itself, which was changed
		return nil, errors.Join(ErrGone, outer.Close())
	}
	err := room(int(outer.Bytes))
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(outer, most))
	}
	err = errors.Join(err, outer.Close())
	if err != nil {
		return nil, err
	}
	found, err := r.findInArchive(ctx, d.OriginalPath, data, sum, r.Unpack.Limits().Depth)
	if err != nil {
		return nil, err
	}
	return &Original{
		ReadSeeker: bytes.NewReader(found), Bytes: int64(len(found)), closes: func() error { return nil },
	}, nil
}

// findInArchive returns the file with a sum in the archive or mail data, up to depth mails deep; name is the
// archive's. The error is ErrGone if there is none or the archive cannot be read, and ctx's if ctx ends; one of
// r.Unpack itself is returned as it is.
func (r *Reader) findInArchive(
	ctx context.Context,
	name string,
	data []byte,
	sum [sha256.Size]byte,
	depth int,
) (found []byte, err error) {
	err = r.Unpack.Expand(ctx, name, data, func(m documents.Member) error {
		if sha256.Sum256(m.Data) == sum {
			found = m.Data
			return errFound
		}
		if depth == 0 || !documents.IsMail(m.Data, m.Name, "") {
			return nil
		}
		_, attached, _ := r.Unpack.Read(ctx, documents.Input{Name: m.Name, Data: m.Data})
		for _, a := range attached {
			inner, err := r.findInArchive(ctx, a.Name, a.Data, sum, depth-1)
			if err == nil {
				found = inner
				return errFound
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return nil
	})
	switch {
	case found != nil:
		return found, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && documents.ReasonOf(err) == "":
		return nil, err
	}
	return nil, ErrGone
}

// readRoots returns the paths of the folders that a collection follows, by their marks. It returns nil, without an
// error, if collection is "" or the collection has no file of them. It fails if the file cannot be read or parsed.
func readRoots(d disk.Disk, collection string) (map[string]string, error) {
	if collection == "" {
		return nil, nil
	}
	text, err := d.ReadFile(filepath.Join(collection, RootsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	roots := map[string]string{}
	if err == nil {
		err = json.Unmarshal(text, &roots)
	}
	if err != nil {
		return nil, fmt.Errorf("reading which folders the documents follow: %w", err)
	}
	return roots, nil
}

// RecordRoots adds folders to the file RootsName of a collection, so that the originals of their documents are found.
// It writes nothing if the file has them all. It fails if the file cannot be read, parsed or written; it then stays as
// it was.
func RecordRoots(d disk.Disk, collection string, roots []string) error {
	known, err := readRoots(d, collection)
	if err != nil || len(roots) == 0 {
		return err
	}
	if known == nil {
		known = map[string]string{}
	}
	changed := false
	for _, root := range roots {
		mark, err := documents.RootOf(root)
		if err != nil {
			return err
		}
		path, err := filepath.Abs(root)
		if err != nil {
			return err
		}
		changed = changed || known[mark] != path
		known[mark] = path
	}
	if !changed {
		return nil
	}
	text, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	return disk.ReplaceFile(d, filepath.Join(collection, RootsName), func(file *disk.Replacement) error {
		_, err := file.Write(append(text, '\n'))
		return err
	})
}
