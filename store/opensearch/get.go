package opensearch

import (
	"encoding/json"
	"fmt"
	"net/http"

	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// parseGot returns the documents in the answer to _mget of ids, in the order of ids. It returns a *GoneError if the
// index is not there, and an ErrAnswer if the answer is not of these ids.
func parseGot(answer []byte, ids []string) ([]schema.StoredDocument, error) {
	var got struct {
		Docs []struct {
			Index  string          `json:"_index"`
			ID     string          `json:"_id"`
			Found  *bool           `json:"found"`
			SeqNo  *int64          `json:"_seq_no"`
			Term   *int64          `json:"_primary_term"`
			Source schema.Source   `json:"_source"`
			Error  json.RawMessage `json:"error"`
		} `json:"docs"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, fmt.Errorf("%w: %w", cluster.ErrAnswer, err)
	}
	if len(got.Docs) != len(ids) {
		return nil, fmt.Errorf("%w: %d documents for %d ids", cluster.ErrAnswer, len(got.Docs), len(ids))
	}
	out := make([]schema.StoredDocument, len(ids))
	for i, d := range got.Docs {
		switch {
		case d.ID != ids[i]:
			return nil, fmt.Errorf("%w: the document of %q in the place of %q", cluster.ErrAnswer, d.ID, ids[i])
		case isMissing(http.StatusNotFound, string(d.Error)):
			return nil, &GoneError{d.Index}
		case len(d.Error) > 0:
			return nil, fmt.Errorf("%w: reading %q: %.300s", cluster.ErrAnswer, ids[i], d.Error)
		case d.Found == nil:
			return nil, fmt.Errorf("%w: it has nothing about %q", cluster.ErrAnswer, ids[i])
		case !*d.Found:
			continue
		case d.SeqNo == nil || d.Term == nil || d.Source == nil:
			return nil, fmt.Errorf("%w: %q without sequence number or source", cluster.ErrAnswer, ids[i])
		}
		var err error
		out[i], err = schema.ParseStored(ids[i], d.Source, *d.SeqNo, *d.Term)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
