package opensearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// The bounds of one bulk request. One larger document goes by itself.
const (
	bulkBytes = 8 << 20
	bulkItems = 500
)

// bulkPatience is how long a request that changes something is tried again while nothing gets through.
const bulkPatience = 2 * time.Minute

// A verb is what a bulk request does with a document.
type verb string

const (
	replacing verb = "index"  // all that is there of it
	updating  verb = "update" // fields of what is there
	removing  verb = "delete"
)

// operation is one change of one document. It has the sequence number of what it changes,
// so that what was changed in between by another is not lost, and what is sent twice is
// done once.
//
// Where nothing was there to change it writes the version that follows the last one, if
// the cluster has none as high: of what was deleted it keeps the last version for a while
// (keepDeleted). So a request that comes late, after what it created was deleted again,
// finds a higher version and brings nothing back. The cluster's own "create" would.
type operation struct {
	verb        verb
	id          string
	body        []byte // one line of JSON; none of removing
	seqNo, term int64  // of what is there; 0: nothing is
	last        int64  // version, where nothing is there; 0: it is not known that there was one
}

// createsDocument reports whether the operation makes a new document, because there was none with its id. The condition
// that it sends is then a version instead of a sequence number.
func (o *operation) createsDocument() bool { return o.term == 0 }

// appendLines appends the operation as the lines of a bulk request: action with condition, and the document unless it
// is removed.
func (o *operation) appendLines(b []byte) []byte {
	b = append(b, `{"`...)
	b = append(b, o.verb...)
	b = append(b, `":{`...)
	b = schema.AppendField(b, "_id", o.id)
	if isStandIn(o.id) {
		b = schema.AppendField(append(b, ','), "routing", passageIDOf(o.id))
	}
	if o.createsDocument() {
		b = fmt.Appendf(b, `,"version":%d,"version_type":"external"`, o.last+1)
	} else {
		b = fmt.Appendf(b, `,"if_seq_no":%d,"if_primary_term":%d`, o.seqNo, o.term)
	}
	b = append(b, "}}\n"...)
	if o.verb == removing {
		return b
	}
	if o.verb == updating {
		b = append(append(append(b, `{"doc":`...), o.body...), '}')
	} else {
		b = append(b, o.body...)
	}
	return append(b, '\n')
}

// operationResult is what became of an operation.
type operationResult struct {
	status int
	why    string // of what was refused
	last   int64  // version that was found instead, where nothing should be
	// unsure: it was sent before this, and nobody said what became of that. Then a
	// conflict may be with itself.
	unsure bool
}

// succeeded reports whether this very request made the change (status 200 or 201).
func (d operationResult) succeeded() bool { return d.status == 200 || d.status == 201 }

// conflicted reports whether the document was not in the state that the operation's condition names (status 409 or
// 404).
func (d operationResult) conflicted() bool { return d.status == 409 || d.status == 404 }

// canRepeat reports whether the cluster could not make the change now (status 429, or 500 and above).
func (d operationResult) canRepeat() bool { return d.status == 429 || d.status >= 500 }

// writeBulk sends operations and returns the result of each, in their order. What the cluster cannot do now, or does
// not answer, is sent again with pauses: then a conflict may be with the first attempt (operationResult.unsure). It
// fails after bulkPatience in which nothing got through, and at once with a *BlockedError or a *GoneError; the
// results then are of what was answered so far.
func (s *Store) writeBulk(ctx context.Context, operations []operation) ([]operationResult, error) {
	return s.writeBulkFor(ctx, bulkPatience, operations)
}

// writeBulkFor sends operations and returns the result of each, in their order. It sends again what the cluster
// cannot do now, and fails with a *SilentError after patience in which nothing got through, and at once with a
// *BlockedError if changes are blocked or a *GoneError if the index was deleted. With an error, the results are of
// what was answered so far.
func (s *Store) writeBulkFor(
	ctx context.Context,
	patience time.Duration,
	operations []operation,
) ([]operationResult, error) {
	if err := s.ensureTarget(ctx); err != nil {
		return nil, cmp.Or(cluster.BlockedIn(s.index, err), err)
	}
	redirected := false
	out := make([]operationResult, len(operations))
	left := make([]int, len(operations))
	for i := range left {
		left[i] = i
	}
	limit := bulkItems
	pauses := s.client.NewBackoff()
	since := time.Now()
	for len(left) > 0 {
		n := 0
		body := []byte(nil)
		for n < len(left) && n < limit && (n == 0 || len(body)+len(operations[left[n]].body) < bulkBytes) {
			body = operations[left[n]].appendLines(body)
			n++
		}
		sent := left[:n]
		results, err := s.sendBulk(ctx, patience-lastLook-time.Since(since), operations, sent, body)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		missing := func(r operationResult) bool { return isMissing(r.status, r.why) }
		if isMissingError(err) || slices.ContainsFunc(results, missing) {
			if redirected {
				return out, &GoneError{s.index}
			}
			redirected = true
			s.aimed.Store(false)
			if err := s.ensureTarget(ctx); err != nil {
				return out, cmp.Or(cluster.BlockedIn(s.index, err), err)
			}
			continue
		}
		var status *cluster.StatusError
		if blocked := cluster.BlockedIn(s.index, err); blocked != nil {
			return out, blocked
		}
		switch known := errors.As(err, &status); {
		case known && status.Status == 413 && n > 1: // Request Entity Too Large
			limit = max(1, n/2)
			continue
		case known && status.Status != 429 && status.Status < 500 && status.Status != 408:
			return out, fmt.Errorf("writing to %s: %w", s.index, err)
		}
		var again []int
		progress := false
		for i, at := range sent {
			if err != nil {
				refused := status != nil && status.Status == 429 // before anything was done
				out[at].unsure = out[at].unsure || !refused
				again = append(again, at)
				continue
			}
			r := results[i]
			r.unsure = out[at].unsure || r.status >= 500
			out[at] = r
			if blocked := cluster.BlockedBy(s.index, r.status, r.why); blocked != nil {
				return out, blocked
			}
			if r.canRepeat() {
				again = append(again, at)
			} else {
				progress = true
			}
		}
		left = append(again, left[n:]...)
		if progress {
			since = time.Now()
		}
		if len(again) == 0 {
			pauses = s.client.NewBackoff()
			continue
		}
		if err == nil {
			err = fmt.Errorf("%q: status %d: %s", operations[again[0]].id, out[again[0]].status, out[again[0]].why)
		}
		if time.Since(since)+pauses.Next > patience-lastLook {
			return out, s.unansweredError(ctx, patience, err)
		}
		if err := pauses.Wait(ctx); err != nil {
			return out, err
		}
	}
	return out, nil
}

// lastLook is how much of the time of changes that do not get through is left to find out whether
// the index is still there: the cluster may leave those unanswered that were under way when it was
// deleted.
const lastLook = time.Second

// unansweredError returns the error of operations that were not answered within patience: a *GoneError if the index is
// not there any more, else a *SilentError with err.
func (s *Store) unansweredError(ctx context.Context, patience time.Duration, err error) error {
	var gone *GoneError
	if now := s.checkSame(ctx, lastLook); errors.As(now, &gone) {
		return gone
	}
	return &SilentError{s.index, patience, err}
}

// sendBulk sends the operations numbered in sent as one request with the given body and returns their results in that
// order. It waits for patience, cluster.RequestTimeout at most. After an error that is no status it is unknown what
// was done.
func (s *Store) sendBulk(
	ctx context.Context,
	patience time.Duration,
	operations []operation,
	sent []int,
	body []byte,
) ([]operationResult, error) {
	ctx, cancel := context.WithTimeout(ctx, min(cluster.RequestTimeout, patience))
	defer cancel()
	answer, err := s.client.Do(ctx, "POST", s.targetPath("/_bulk?timeout=20s&require_alias=true"), body)
	if err != nil {
		return nil, err
	}
	want := make([]*operation, len(sent))
	for i, at := range sent {
		want[i] = &operations[at]
	}
	return parseBulk(answer, want)
}

// currentVersion is where a conflict says which version there is, also of what is deleted:
// nothing else does.
var currentVersion = regexp.MustCompile(`current version \[(\d+)\]`)

// parseBulk returns the results in the answer to a bulk request of the operations want, in their order. It returns an
// ErrAnswer if the answer is not of these operations.
func parseBulk(answer []byte, want []*operation) ([]operationResult, error) {
	var got struct {
		Items []map[verb]struct {
			ID     string          `json:"_id"`
			Status int             `json:"status"`
			Error  json.RawMessage `json:"error"`
		} `json:"items"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, fmt.Errorf("%w: %w", cluster.ErrAnswer, err)
	}
	if len(got.Items) != len(want) {
		return nil, fmt.Errorf("%w: %d items for %d operations", cluster.ErrAnswer, len(got.Items), len(want))
	}
	out := make([]operationResult, len(want))
	for i, item := range got.Items {
		r, ok := item[want[i].verb]
		if !ok || len(item) != 1 || r.ID != want[i].id || r.Status < 200 || r.Status > 599 {
			return nil, fmt.Errorf("%w: item %d is not of %s %q", cluster.ErrAnswer, i, want[i].verb, want[i].id)
		}
		out[i] = operationResult{status: r.Status, why: cluster.Reason(r.Error)}
		if want[i].createsDocument() && r.Status == 409 {
			found := currentVersion.FindStringSubmatch(out[i].why)
			if found == nil {
				return nil, fmt.Errorf("%w: item %d is a conflict with no version: %s", cluster.ErrAnswer, i, out[i].why)
			}
			out[i].last, _ = strconv.ParseInt(found[1], 10, 64)
		}
		if out[i].succeeded() && len(r.Error) > 0 && !bytes.Equal(r.Error, []byte("null")) {
			return nil, fmt.Errorf("%w: item %d succeeded with an error", cluster.ErrAnswer, i)
		}
	}
	return out, nil
}

// getStored reads documents by their ids, with the named fields, as they were acknowledged last. The result has an
// entry for each id; Found is false if there is no document. It is tried again for bulkPatience. It fails after that.
func (s *Store) getStored(ctx context.Context, ids []string, fields ...string) ([]schema.StoredDocument, error) {
	return s.getStoredFor(ctx, bulkPatience, ids, fields...)
}

// getStoredFor reads documents by their ids, with the named fields, as they were acknowledged last. The result has an
// entry for each id; Found is false if there is no document. It fails if there is no answer within patience.
func (s *Store) getStoredFor(
	ctx context.Context,
	patience time.Duration,
	ids []string,
	fields ...string,
) ([]schema.StoredDocument, error) {
	path, body, err := s.getRequest(ids, fields...)
	if err != nil {
		return nil, err
	}
	var out []schema.StoredDocument
	_, err = s.sendRepeatedFor(ctx, patience, "POST", path, body, func(answer []byte) (err error) {
		out, err = parseGot(answer, ids)
		return err
	})
	return out, err
}

// getRequest returns the path and the body of the request that reads the named fields of documents by their ids, and
// with them always FieldVersion and FieldExperts. It fails only if the ids cannot be encoded.
func (s *Store) getRequest(ids []string, fields ...string) (path string, body []byte, err error) {
	mget := "/_mget?_source_includes=" + url.QueryEscape(strings.Join(append(fields, schema.FieldVersion, schema.FieldExperts), ","))
	if s.members == nil && !slices.ContainsFunc(ids, isStandIn) {
		body, err = json.Marshal(object{"ids": ids})
		return s.path(mget), body, err
	}
	var docs []object
	for _, id := range ids {
		one := object{"_id": plainID(id)}
		if isStandIn(id) {
			one["routing"] = passageIDOf(id)
		}
		if s.members != nil {
			one["_index"] = s.members[memberOf(id)].concrete
		}
		docs = append(docs, one)
	}
	body, err = json.Marshal(object{"docs": docs})
	if s.members == nil {
		mget = s.path(mget)
	}
	return mget, body, err
}

// sendRepeated sends a request about the index until an answer passes check, and returns that answer. It fails after
// bulkPatience, and at once with a *BlockedError. The request has to be one that changes nothing or may be carried
// out twice.
func (s *Store) sendRepeated(
	ctx context.Context,
	method, path string,
	body []byte,
	check func(answer []byte) error,
) (answer []byte, err error) {
	return s.sendRepeatedFor(ctx, bulkPatience, method, path, body, check)
}

// sendRepeatedFor sends a request about the index until an answer passes check, and returns that answer. It fails after
// patience, and at once with a *BlockedError if the cluster has blocked the index. The request has to be one that
// changes nothing or may be carried out twice.
func (s *Store) sendRepeatedFor(
	ctx context.Context,
	patience time.Duration,
	method, path string,
	body []byte,
	check func(answer []byte) error,
) (answer []byte, err error) {
	return s.client.Repeat(ctx, patience, cluster.Request{
		Index: s.index, Method: method, Path: path, Body: body, Check: check,
	})
}
