package segmentfile

import (
	"context"
	"fmt"
	"io"

	"example.org/conclave/store/folder/internal/manifest"

	"github.com/zeebo/xxh3"
)

// Describe reads the content of a file without its seal and returns its entry in a manifest: the checksum of the
// content, and the size with a seal. progress, if it is not nil, is called with the number of bytes of each read. It
// fails if reading does or ctx ends. name is the file's name in the entry.
func Describe(
	ctx context.Context, content io.Reader, name string, progress func(bytes int64),
) (manifest.SegmentFile, error) {
	out := manifest.SegmentFile{Name: name, Size: int64(SealBytes)}
	hasher := xxh3.New()
	buffer := make([]byte, 64<<10) // a flush describes many small files
	for {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		n, err := content.Read(buffer)
		_, _ = hasher.Write(buffer[:n]) // never fails
		out.Size += int64(n)
		if n > 0 && progress != nil {
			progress(int64(n))
		}
		if err == io.EOF {
			sum := hasher.Sum128()
			out.Sum = fmt.Sprintf("%016x%016x", sum.Hi, sum.Lo)
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}
