package opensearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"example.org/conclave/store/opensearch/cluster"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"
)

// stateSuffix is added to the name of an index and gives the name of the index of its registers. They are apart, since
// documents that are no passages would count in the statistics of words.
const stateSuffix = "-state"

// Register is a lease.Register in a cluster: a document in the index of registers of an index of passages. A change
// names the version that it began with, so that none undoes another one.
type Register struct {
	beside   *Store
	name     string
	store    *Store        // the index, if it was opened; nil: it may not be there yet
	patience time.Duration // with one request; 0: as long as others that fill an index
	pending  bool          // it is found by listPending
	made     *atomic.Bool  // whether the index of the registers is known to be there, with its fields; nil: it is not
}

// Register returns the register with a name, which is a document in the index of registers. It makes no request; the
// index of registers is made by the first Write, if the index that was opened is still there.
func (s *Store) Register(name string) *Register {
	state := s.concrete + stateSuffix
	r := &Register{beside: &Store{client: s.client, index: state, concrete: state}, name: name}
	if s.current() != nil {
		r.store = s
	}
	return r
}

// target returns the alias by which the index of registers is written, so that a write cannot make an index
// (Store.target says why).
func (r *Register) target() string { return r.beside.index + "-W" }

// registerDocument is the document of a register. Data is JSON.
type registerDocument struct {
	Data    json.RawMessage `json:"data"`
	Pending bool            `json:"pending,omitempty"`
}

// Read returns the data that was written last, JSON, and its version; nil and "" if there is no register. It fails if
// the cluster does.
func (r *Register) Read(ctx context.Context) (data []byte, version string, err error) {
	answer, err := r.ask(ctx, "GET", r.path("?_source=true"), nil)
	if cluster.IsStatus(err, 404) { // the register, or the index
		return nil, "", nil
	}
	var got struct {
		SeqNo  *int64           `json:"_seq_no"`
		Term   *int64           `json:"_primary_term"`
		Source registerDocument `json:"_source"`
	}
	if err == nil {
		err = json.Unmarshal(answer, &got)
	}
	if err == nil && (got.SeqNo == nil || got.Term == nil) {
		err = fmt.Errorf("%w: no sequence number", cluster.ErrAnswer)
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading %s of index %s: %w", r.name, r.beside.index, err)
	}
	return got.Source.Data, registerVersion(*got.SeqNo, *got.Term), nil
}

// ask sends a request about the register until it is answered, for the register's patience, and returns the answer.
// The request has to be one that may be carried out twice. It fails after that, or if the cluster refuses.
func (r *Register) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	return r.beside.sendRepeatedFor(ctx, cmp.Or(r.patience, bulkPatience), method, path, body, cluster.CheckJSON)
}

// path returns the path of a request about the register's document, followed by query, which begins with "?" or is
// empty.
func (r *Register) path(query string) string {
	return r.beside.path("/_doc/" + url.PathEscape(r.name) + query)
}

// registerVersion returns the version of a register: the query parameters by which a request names the state that it
// changes. seqNo and term are the sequence number and primary term of the register's document.
func registerVersion(seqNo, term int64) string {
	return fmt.Sprintf("if_seq_no=%d&if_primary_term=%d", seqNo, term)
}

// Write writes data, JSON, if the register still has the version; "" stands for no register. done reports whether
// this call wrote it, and now is the register's version after it, "" if there is none. Each call has to write other
// data than any other: a request that nobody answered is known again by its data. The first Write makes the index of
// registers; it returns a *GoneError if the index of passages is gone.
func (r *Register) Write(ctx context.Context, data []byte, version string) (now string, done bool, err error) {
	if version == "" {
		if r.made == nil || !r.made.Load() {
			if err := r.make(ctx); err != nil {
				return "", false, err
			}
		}
		version = "op_type=create"
	}
	body, err := json.Marshal(registerDocument{data, r.pending})
	if err != nil {
		return "", false, err
	}
	path := "/" + url.PathEscape(r.target()) + "/_doc/" + url.PathEscape(r.name)
	path += "?timeout=20s&require_alias=true&" + version
	answer, err := r.ask(ctx, "PUT", path, body)
	if isMissingError(err) { // the index was restored without its alias
		if r.made != nil {
			r.made.Store(false)
		}
		if err := r.beside.pointAlias(ctx, r.target()); cluster.IsStatus(err, 404) {
			return "", false, nil // it is gone, and the version with it
		} else if err != nil {
			return "", false, fmt.Errorf("giving index %s an alias: %w", r.beside.index, err)
		}
		answer, err = r.ask(ctx, "PUT", path, body)
	}
	if cluster.IsStatus(err, 409) {
		has, now, err := r.Read(ctx)
		return now, err == nil && bytes.Equal(has, data), err
	}
	var got struct {
		SeqNo int64 `json:"_seq_no"`
		Term  int64 `json:"_primary_term"`
	}
	if err == nil {
		err = json.Unmarshal(answer, &got)
	}
	if err != nil {
		return "", false, fmt.Errorf("writing %s of index %s: %w", r.name, r.beside.index, err)
	}
	return registerVersion(got.SeqNo, got.Term), true, nil
}

// registerFields are the fields of the registers.
var registerFields = object{
	"data":    object{"type": "object", "enabled": false},
	"pending": object{"type": "boolean"},
}

// make makes the index of the registers, if there is none. It returns a *GoneError if the index of passages that was
// opened is gone.
func (r *Register) make(ctx context.Context) error {
	if r.store != nil {
		var gone *GoneError
		if err := r.store.checkSame(ctx, cluster.Opening); errors.As(err, &gone) {
			return err
		}
	}
	body, err := json.Marshal(object{
		"settings": object{"index": object{"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": true}},
		"mappings": object{"dynamic": "strict", "properties": registerFields},
		"aliases":  object{r.target(): hidden},
	})
	if err != nil {
		return err
	}
	_, err = r.ask(ctx, "PUT", r.beside.path("?timeout=20s"), body)
	var status *cluster.StatusError
	if errors.As(err, &status) && status.Status == 400 &&
		bytes.Contains([]byte(status.Body), []byte("resource_already_exists")) {
		err = nil
	}
	if err == nil && r.made != nil && r.pending {
		r.made.Store(true)
	}
	if err != nil {
		return fmt.Errorf("registering as the writer of the index: %w", r.beside.notMadeError(err))
	}
	return nil
}
