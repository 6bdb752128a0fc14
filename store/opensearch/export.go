package opensearch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"

	"example.org/conclave/search/storage"
)

// ExportPassages writes the passages that a filter lets through as JSON Lines, in the byte order of their ids, as
// those of a collection in a folder are exported: one line each, which can be indexed again. It fails if the cluster
// does not answer, and with a *conditions.MisfitError if the filter does not fit the fields; a part may be written
// then.
func (c *Corpus) ExportPassages(ctx context.Context, to io.Writer, f storage.Filter) (err error) {
	scan, err := c.ScanSelected(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scan.Close()) }()
	w := bufio.NewWriter(to)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for {
		p, err := scan.Next()
		if err == io.EOF {
			return w.Flush()
		}
		if err == nil {
			err = encoder.Encode(p)
		}
		if err != nil {
			return errors.Join(err, w.Flush())
		}
	}
}
