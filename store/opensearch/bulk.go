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

// absent reports that nothing was there to change.
func (o *operation) absent() bool { return o.term == 0 }

// appendTo appends the lines of an operation.
func (o *operation) appendTo(b []byte) []byte {
	b = append(b, `{"`...)
	b = append(b, o.verb...)
	b = append(b, `":{`...)
	b = schema.AppendField(b, "_id", o.id)
	if isStandIn(o.id) {
		b = schema.AppendField(append(b, ','), "routing", shownID(o.id))
	}
	if o.absent() {
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

// done is what became of an operation.
type done struct {
	status int
	why    string // of what was refused
	last   int64  // version that was found instead, where nothing should be
	// unsure: it was sent before this, and nobody said what became of that. Then a
	// conflict may be with itself.
	unsure bool
}

// made reports that the change was made by this very request.
func (d done) made() bool { return d.status == 200 || d.status == 201 }

// conflict reports that another state was found than the operation's condition says.
func (d done) conflict() bool { return d.status == 409 || d.status == 404 }

// again reports that the cluster could not do it now.
func (d done) again() bool { return d.status == 429 || d.status >= 500 }

// bulk makes changes and says what became of each. What the cluster cannot do now, or
// says nothing of, is sent again, with pauses: a conflict is then possible with what went
// through unnoticed (done.unsure). The error is that of a cluster that did nothing for
// bulkPatience, or that refuses all: a *BlockedError or a *GoneError at once.
func (s *Store) bulk(ctx context.Context, operations []operation) ([]done, error) {
	return s.bulkFor(ctx, bulkPatience, operations)
}

// bulkFor works as bulk does with how long nothing may get through.
func (s *Store) bulkFor(ctx context.Context, patience time.Duration, operations []operation) ([]done, error) {
	if err := s.aim(ctx); err != nil {
		return nil, cmp.Or(cluster.BlockedIn(s.index, err), err)
	}
	redirected := false
	out := make([]done, len(operations))
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
			body = operations[left[n]].appendTo(body)
			n++
		}
		sent := left[:n]
		results, err := s.sendFor(ctx, patience-lastLook-time.Since(since), operations, sent, body)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if hasMissed(err) || slices.ContainsFunc(results, func(r done) bool { return missed(r.status, r.why) }) {
			if redirected {
				return out, &GoneError{s.index}
			}
			redirected = true
			s.aimed.Store(false)
			if err := s.aim(ctx); err != nil {
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
			if r.again() {
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
			return out, s.gaveUp(ctx, patience, err)
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

// gaveUp returns the error of changes that did not get through.
func (s *Store) gaveUp(ctx context.Context, patience time.Duration, err error) error {
	var gone *GoneError
	if now := s.still(ctx, lastLook); errors.As(now, &gone) {
		return gone
	}
	return &SilentError{s.index, patience, err}
}

// sendFor sends operations in one request, and waits so long for its answer. An error says
// nothing of what was done, unless it is a status.
func (s *Store) sendFor(
	ctx context.Context,
	patience time.Duration,
	operations []operation,
	sent []int,
	body []byte,
) ([]done, error) {
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

// parseBulk reads the answer to operations, in their order.
func parseBulk(answer []byte, want []*operation) ([]done, error) {
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
	out := make([]done, len(want))
	for i, item := range got.Items {
		r, ok := item[want[i].verb]
		if !ok || len(item) != 1 || r.ID != want[i].id || r.Status < 200 || r.Status > 599 {
			return nil, fmt.Errorf("%w: item %d is not of %s %q", cluster.ErrAnswer, i, want[i].verb, want[i].id)
		}
		out[i] = done{status: r.Status, why: cluster.Reason(r.Error)}
		if want[i].absent() && r.Status == 409 {
			found := currentVersion.FindStringSubmatch(out[i].why)
			if found == nil {
				return nil, fmt.Errorf("%w: item %d is a conflict with no version: %s", cluster.ErrAnswer, i, out[i].why)
			}
			out[i].last, _ = strconv.ParseInt(found[1], 10, 64)
		}
		if out[i].made() && len(r.Error) > 0 && !bytes.Equal(r.Error, []byte("null")) {
			return nil, fmt.Errorf("%w: item %d succeeded with an error", cluster.ErrAnswer, i)
		}
	}
	return out, nil
}

// get reads what there is of ids, as it was acknowledged last, with the named fields.
func (s *Store) get(ctx context.Context, ids []string, fields ...string) ([]schema.Stored, error) {
	return s.getFor(ctx, bulkPatience, ids, fields...)
}

// getFor works as get does with how long it is tried again.
func (s *Store) getFor(
	ctx context.Context,
	patience time.Duration,
	ids []string,
	fields ...string,
) ([]schema.Stored, error) {
	path, body, err := s.getting(ids, fields...)
	if err != nil {
		return nil, err
	}
	var out []schema.Stored
	_, err = s.askFor(ctx, patience, "POST", path, body, func(answer []byte) (err error) {
		out, err = parseGot(answer, ids)
		return err
	})
	return out, err
}

// getting returns the request that reads fields of passages.
func (s *Store) getting(ids []string, fields ...string) (path string, body []byte, err error) {
	of := "/_mget?_source_includes=" + url.QueryEscape(strings.Join(append(fields, schema.FieldVersion, schema.FieldExperts), ","))
	if s.members == nil && !slices.ContainsFunc(ids, isStandIn) {
		body, err = json.Marshal(object{"ids": ids})
		return s.path(of), body, err
	}
	var docs []object
	for _, id := range ids {
		one := object{"_id": plainID(id)}
		if isStandIn(id) {
			one["routing"] = shownID(id)
		}
		if s.members != nil {
			one["_index"] = s.members[memberOf(id)].concrete
		}
		docs = append(docs, one)
	}
	body, err = json.Marshal(object{"docs": docs})
	if s.members == nil {
		of = s.path(of)
	}
	return of, body, err
}

// ask sends what changes nothing, or may be done twice, until the cluster does it, refuses
// it, or did not for a while. check looks at the answer; where it finds that the
// answer is not whole (ErrAnswer), that is tried again, too.
func (s *Store) ask(
	ctx context.Context,
	method, path string,
	body []byte,
	check func(answer []byte) error,
) (answer []byte, err error) {
	return s.askFor(ctx, bulkPatience, method, path, body, check)
}

// askFor works as ask does with how long it is tried again. A block is a *BlockedError at once.
func (s *Store) askFor(
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
