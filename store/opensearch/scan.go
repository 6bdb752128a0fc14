package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// pageAlive is how long the cluster keeps the state that a Scan reads, from page to page.
const pageAlive = "10m"

// Scan reads the passages of an index in the order of their ids, as they were when it began, or when a node was lost
// since. It is a store.Stream.
type Scan struct {
	ctx         context.Context // of a source, whose Next has none
	store       *Store
	query       object
	at          string // the point in time
	after       json.RawMessage
	page        []corpus.Passage
	ended       bool
	done, total int64
}

// Scan begins to read all passages of the index, in the order of their ids; stand-ins, the copies of passages that
// are being replaced, are left out. The Scan uses ctx until its end. The caller has to Close it. It fails if the
// cluster does not answer.
func (s *Store) Scan(ctx context.Context) (*Scan, error) {
	return s.scan(ctx, object{"match_all": object{}})
}

// ScanSelected begins to read the passages that a filter lets through by tags, documents and its condition; wordings
// (Must, MustNot) do not count. The caller has to Close the Scan, which uses ctx until its end. It returns a
// *conditions.MisfitError if the condition's values do not fit their fields.
func (c *Corpus) ScanSelected(ctx context.Context, f storage.Filter) (*Scan, error) {
	clauses := filterClauses(f)
	if !f.Where.LetsAll() {
		meet, err := c.conditionQuery(ctx, &f.Where)
		if err != nil {
			return nil, err
		}
		clauses = append(clauses, meet)
	}
	return c.Store().scan(ctx, object{"bool": object{"filter": clauses}})
}

// scan begins to read the passages that a query finds; the caller has to Close the Scan. It refreshes the index
// first, so that the Scan has all that was acknowledged. A user who may only read cannot refresh: the Scan then lacks
// what was acknowledged in the last second. It fails if the cluster does not answer.
func (s *Store) scan(ctx context.Context, query object) (*Scan, error) {
	if err := s.refresh(ctx); err != nil && !cluster.IsStatus(err, http.StatusForbidden) {
		return nil, err
	}
	scan := &Scan{ctx: ctx, store: s, query: withoutStandIns(query), total: -1}
	return scan, scan.openPointInTime()
}

// openPointInTime opens a point in time: a state of the index that the cluster keeps for pageAlive after each request,
// and that Next reads. It fails if the cluster refuses or cannot be asked. Close ends it.
func (s *Scan) openPointInTime() error {
	answer, err := s.store.sendRepeated(
		s.ctx, "POST", s.store.path("/_search/point_in_time?keep_alive="+pageAlive), nil, cluster.CheckSearched,
	)
	if err != nil {
		return err
	}
	var made struct {
		ID string `json:"pit_id"`
	}
	if err := json.Unmarshal(answer, &made); err != nil || made.ID == "" {
		return fmt.Errorf("%w: no point in time: %w", cluster.ErrAnswer, err)
	}
	s.at = made.ID
	return nil
}

// Next returns the next passage, by id; io.EOF after the last. It reads a page of passages at a time.
func (s *Scan) Next() (p corpus.Passage, err error) {
	if len(s.page) == 0 && !s.ended {
		if err := s.readPage(); err != nil {
			return p, fmt.Errorf("reading the passages of %s: %w", s.store.index, err)
		}
	}
	if len(s.page) == 0 {
		return p, io.EOF
	}
	p = s.page[0]
	s.page = s.page[1:]
	s.done++
	return p, nil
}

// Place returns the index as the place that errors about passages name.
func (s *Scan) Place() corpus.Place { return corpus.Place{File: "index " + s.store.index} }

// Progress returns how many passages Next returned and how many there are; -1 before the first call of Next.
func (s *Scan) Progress() (done, total int64) { return s.done, s.total }

// Close ends the point in time, so that the cluster can forget the state that was read. It works also when the Scan's
// context has ended. It fails if the cluster does not answer; the point in time then ends by itself.
func (s *Scan) Close() error {
	body, err := json.Marshal(object{"pit_id": []string{s.at}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), cluster.RequestTimeout)
	defer cancel()
	_, err = s.store.client.Do(ctx, "DELETE", "/_search/point_in_time", body)
	return err
}

// pagePatience is how long a page is asked for before the state that it is of is taken for lost.
const pagePatience = 10 * time.Second

// readPage reads the next page. The state that is read lies in copies on some nodes: if none of them answers within
// pagePatience, it opens a new point in time, and the pages that are left are of that newer state. It fails if the
// cluster does not answer or ctx ends.
func (s *Scan) readPage() error {
	err := s.readWithin(pagePatience)
	if err == nil || s.ctx.Err() != nil {
		return err
	}
	if again := s.openPointInTime(); again != nil {
		return fmt.Errorf("%w; beginning anew: %w", err, again)
	}
	return s.readWithin(bulkPatience)
}

// readWithin sets s.page to the next page of the present state, and s.ended after the last. It fails, and changes
// neither, if it does not get the page within patience.
func (s *Scan) readWithin(patience time.Duration) error {
	query := object{
		"size": batchPassages, "query": s.query, "sort": []any{object{schema.FieldID: "asc"}},
		"pit": object{"id": s.at, "keep_alive": pageAlive},
		"_source": slices.Concat(
			schema.PassageFields(), []string{schema.FieldVersion, schema.FieldExperts}, s.store.windowPlaces(),
		),
	}
	if s.after != nil {
		query["search_after"] = s.after
	} else {
		query["track_total_hits"] = true
	}
	body, err := json.Marshal(query)
	if err != nil {
		return err
	}
	var read page
	if _, err := s.store.sendRepeatedFor(s.ctx, patience, "POST", "/_search", body, func(answer []byte) (err error) {
		read, err = parsePage(answer)
		if err == nil {
			err = s.store.noteWindows(answer)
		}
		return err
	}); err != nil {
		return err
	}
	if s.after == nil {
		s.total = read.total
	}
	s.page = read.passages
	s.ended = len(read.passages) < batchPassages
	s.after = read.last
	return nil
}

// page is some passages in the order of their ids.
type page struct {
	passages []corpus.Passage
	last     json.RawMessage // where the next page begins
	total    int64           // of all pages; 0 where it is not said
}

// parsePage returns the passages, and where the next page begins, in the answer to a search that sorts by id. It
// returns an ErrAnswer if shards are missing or the ids do not ascend, and an error for a document that is no
// passage.
func parsePage(answer []byte) (p page, err error) {
	if err := cluster.CheckSearched(answer); err != nil {
		return p, err
	}
	var got struct {
		Hits *struct {
			Total *struct {
				Value int64 `json:"value"`
			} `json:"total"`
			Hits []struct {
				ID     string          `json:"_id"`
				Source schema.Source   `json:"_source"`
				Sort   json.RawMessage `json:"sort"`
			} `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return p, fmt.Errorf("%w: %w", cluster.ErrAnswer, err)
	}
	if got.Hits == nil {
		return p, fmt.Errorf("%w: no hits", cluster.ErrAnswer)
	}
	if got.Hits.Total != nil {
		p.total = got.Hits.Total.Value
	}
	for _, hit := range got.Hits.Hits {
		passage, err := hit.Source.Passage(hit.ID)
		if err != nil {
			return p, err
		}
		if n := len(p.passages); n > 0 && p.passages[n-1].ID >= passage.ID {
			return p, fmt.Errorf("%w: passage %q after %q", cluster.ErrAnswer, passage.ID, p.passages[n-1].ID)
		}
		p.passages = append(p.passages, passage)
		p.last = hit.Sort
	}
	return p, nil
}

// Encoders returns the experts of the index as encoders that return the vectors which the index has, and encode
// nothing. They fail for a passage that is not there with the content that is asked for.
func (s *Store) Encoders() (out []store.PassageEncoder) {
	for _, x := range s.about.Manifest.Experts {
		out = append(out, storedEncoder{x, s})
	}
	return out
}

// storedEncoder is an expert of an index as an encoder that returns the vectors which the index has. It encodes
// nothing.
type storedEncoder struct {
	expert schema.Expert
	store  *Store
}

// Name returns the name of the expert.
func (e storedEncoder) Name() string { return e.expert.Name }

// Dimension returns how many numbers a vector of the expert has.
func (e storedEncoder) Dimension() int { return e.expert.Dimension }

// Fingerprint returns the fingerprint of the encoder that made the vectors.
func (e storedEncoder) Fingerprint() string { return e.expert.Fingerprint }

// Late reports whether the vectors are codes of late interaction.
func (e storedEncoder) Late() bool { return e.expert.Late }

// Parts returns nil: no index has vectors of parts of passages.
func (e storedEncoder) Parts() func(text string) []rank.Span { return nil }

// Owner returns the name of the expert whose vectors this expert uses; "" if it has vectors of its own.
func (e storedEncoder) Owner() string { return e.expert.Owner }

// fetchPassages bounds the passages of one request for vectors: the codes of a long passage are some 100 kB.
const fetchPassages = 64

// EncodePassages returns the vectors that the index has of passages, in their order; for windows of a passage, given
// as passages with part of its text, those of the windows. It fails if a passage was changed since it was scanned.
func (e storedEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) (out [][]float32, err error) {
	if e.expert.Owner != "" {
		return nil, fmt.Errorf("expert %q has no vectors of its own", e.expert.Name)
	}
	for len(passages) > 0 {
		some := passages[:min(fetchPassages, len(passages))]
		passages = passages[len(some):]
		var ids []string
		for i := range some {
			if i == 0 || some[i].ID != some[i-1].ID { // windows of a passage follow each other
				ids = append(ids, some[i].ID)
			}
		}
		there, err := e.store.getStored(ctx, ids, append(e.expert.Sources(), schema.FieldText)...)
		if err != nil {
			return nil, err
		}
		late := lateExperts([]schema.Expert{e.expert})
		if err := e.store.addFreshCodes(ctx, bulkPatience, ids, there, late); err != nil {
			return nil, err
		}
		at := -1
		for i := range some {
			if i == 0 || some[i].ID != some[i-1].ID {
				at++
			}
			vector, err := there[at].VectorFor(e.expert, &some[i])
			if err != nil {
				return nil, fmt.Errorf("passage %q of %s: %w", some[i].ID, e.store.index, err)
			}
			out = append(out, vector)
		}
	}
	return out, nil
}

// windowPlaces returns the fields that have the places of windows in the texts, for all experts.
func (s *Store) windowPlaces() (fields []string) {
	m := s.current()
	for _, x := range m.Keepers() {
		if field := x.WindowsField(); field != "" {
			fields = append(fields, field+"."+schema.FieldBegin, field+"."+schema.FieldEnd)
		}
	}
	return fields
}

// noteWindows reads the places of windows, and which experts left passages out, from the answer with a page of passages
// and keeps both for storedEncoder.Windows. It fails if a field of places cannot be decoded.
func (s *Store) noteWindows(answer []byte) error {
	fields := map[string]bool{}
	for _, x := range s.current().Keepers() {
		fields[x.WindowsField()] = true
	}
	var got struct {
		Hits struct {
			Hits []struct {
				ID     string        `json:"_id"`
				Source schema.Source `json:"_source"`
			} `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return fmt.Errorf("%w: %w", cluster.ErrAnswer, err)
	}
	for _, hit := range got.Hits.Hits {
		for _, x := range s.current().Keepers() {
			if hit.Source.IsLeftOut(x) {
				s.windows.Store(entry{x.Field(), hit.ID}, []rank.Span{})
			}
		}
		for name, raw := range hit.Source {
			if !fields[name] {
				continue
			}
			var spans []rank.Span
			if err := json.Unmarshal(raw, &spans); err != nil {
				return fmt.Errorf("passage %q: field %s: %w", hit.ID, name, err)
			}
			s.windows.Store(entry{name, hit.ID}, spans)
		}
	}
	return nil
}

// Windows returns the windows whose vectors the index has of a passage, if it was scanned and has some, none, but not
// nil, if the expert left it out, and else nil. cut is always false.
func (e storedEncoder) Windows(p corpus.Passage) (windows []rank.Span, cut bool) {
	for _, field := range []string{e.expert.WindowsField(), e.expert.Field()} {
		if spans, ok := e.store.windows.Load(entry{field, p.ID}); ok && field != "" {
			return spans.([]rank.Span), false
		}
	}
	return nil, false
}
