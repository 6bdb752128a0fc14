package opensearch

import (
	"context"
	"errors"
	"time"

	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// describe reads the description and the _meta of the index from the cluster, and keeps the name of the index in
// s.concrete, to which an alias leads. whom is the query of the request: which node answers. It fails with ErrNoIndex
// if there is none, and if an alias leads to several.
func (s *Store) describe(
	ctx context.Context,
	whom string,
	patience time.Duration,
) (*schema.Description, *schema.Meta, error) {
	answer, err := s.sendRepeatedFor(ctx, patience, "GET", s.path(whom), nil, cluster.CheckJSON)
	if cluster.IsStatus(err, 404) {
		return nil, nil, ErrNoIndex
	}
	if err != nil {
		return nil, nil, err
	}
	name, d, about, err := schema.ParseDescription(answer)
	if err == nil {
		s.concrete = name
	}
	return d, about, err
}

// ErrNoIndex is the error of an index that is not there.
var ErrNoIndex = errors.New("there is no such index in the cluster")

// isNotOurs reports whether err says that this program cannot have opened an index of the name: there is none, another
// program made it, or it has another format.
func isNotOurs(err error) bool {
	return errors.Is(err, ErrNoIndex) || errors.Is(err, schema.ErrForeign) || errors.As(err, new(*schema.FormatError))
}
