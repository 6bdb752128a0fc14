package opensearch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// ErrReadOnly is the error of an index whose passages may be read and not changed: the key or the user may not, or the
// index is locked against changes.
var ErrReadOnly = errors.New("the user or API key may not write to the index")

// MayWrite returns an ErrReadOnly if the cluster refuses changes of passages. It asks to delete a passage that is not
// there. Any other failure is no error: a cluster that cannot write now may be able to later.
func (s *Store) MayWrite(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cluster.Opening)
	defer cancel()
	if err := s.ensureTarget(ctx); err != nil {
		return s.readOnlyError("of its aliases", err)
	}
	none := []operation{{verb: removing, id: "conclave-" + rand.Text(), term: 1}}
	body := none[0].appendLines(nil)
	results, err := s.sendBulk(ctx, cluster.Opening, none, []int{0}, body)
	if err == nil && results[0].status == http.StatusForbidden {
		err = &cluster.StatusError{Status: results[0].status, Body: results[0].why}
	}
	return s.readOnlyError("of its passages", err)
}

// MayChange returns an ErrReadOnly if the cluster refuses changes of the mapping, which has the description of the
// index. It asks for a field that is there as it is. Any other failure is no error.
func (s *Store) MayChange(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cluster.Opening)
	defer cancel()
	_, err := s.client.Do(
		ctx, http.MethodPut, s.path("/_mapping"), []byte(`{"properties":{"`+schema.FieldID+`":{"type":"keyword"}}}`),
	)
	return s.readOnlyError("of its mapping", err)
}

// readOnlyError returns an ErrReadOnly if err is of HTTP status 401 or 403, else nil. refused names what was refused,
// such as "of its mapping".
func (s *Store) readOnlyError(refused string, err error) error {
	if !cluster.IsStatus(err, http.StatusForbidden) && !cluster.IsStatus(err, http.StatusUnauthorized) {
		return nil
	}
	return fmt.Errorf("%w: index %s refuses %s a change %s: %w", ErrReadOnly, s.index, s.client.Who(), refused, err)
}
