package handlers

import (
	"net/http"
	"strings"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// ExpertList is the answer of /v1/experts.
type ExpertList struct {
	Experts     []learned.ExpertInfo     `json:"experts"`
	Readers     []learned.ReaderInfo     `json:"readers,omitempty"`
	Rerankers   []learned.RerankerInfo   `json:"rerankers,omitempty"`
	Methods     []search.MethodInfo      `json:"methods"`
	Reliability []learned.ReliabilityBin `json:"reliability,omitempty"` // of the answers' confidence
}

// getExperts answers GET /v1/experts with the experts, readers, rerankers and fusion methods of the collection. It
// returns a problem while the collection is not loaded.
func (a *API) getExperts(c *call, _ none) (out ExpertList, err error) {
	engine, err := c.admittedEngine()
	if err != nil {
		return out, err
	}
	out.Experts = []learned.ExpertInfo{}
	out.Readers = engine.Readers()
	out.Rerankers = engine.Rerankers()
	out.Methods = engine.Methods()
	out.Reliability = engine.Defaults().Reliability
	for _, expert := range engine.Experts() {
		out.Experts = append(out.Experts, withoutNulls(expert))
	}
	return out, nil
}

// getExpert answers GET /v1/experts/{name} with the description of one expert. It returns a problem if there is none of
// this name.
func (a *API) getExpert(c *call, _ none) (out learned.ExpertInfo, err error) {
	engine, err := c.admittedEngine()
	if err != nil {
		return out, err
	}
	out, err = engine.Expert(c.name)
	return withoutNulls(out), err
}

// withoutNulls returns the expert with empty maps in the place of nil ones, so that JSON has {} and not null.
func withoutNulls(expert learned.ExpertInfo) learned.ExpertInfo {
	if expert.Fingerprints == nil {
		expert.Fingerprints = map[string]string{}
	}
	if expert.MaxTokens == nil {
		expert.MaxTokens = map[string]int{}
	}
	if expert.Recall == nil {
		expert.Recall = map[string]float64{}
	}
	return expert
}

// etagSuffix is what the compression adds to an ETag, since a compressed
// answer is another sequence of bytes.
const etagSuffix = "-gzip"

// getPassage answers GET /v1/passages/{id} with a passage and its place in its document; with 304 if the client has
// this version (If-None-Match). It returns a problem if there is no such passage that the caller may see.
func (a *API) getPassage(c *call) error {
	passage, version, err := a.storedPassage(c)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("ETag", `"`+version+`"`)
	h.Set("Cache-Control", "private, no-cache") // keep it, and ask
	if matchesVersion(c.r.Header.Values("If-None-Match"), version) {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return c.respond(http.StatusOK, placePassage(&passage))
}

// PlacedPassage is a passage of an answer, with its place in its document. The place is computed from the metadata;
// when a client sends it back, it is ignored (dropPlaceFields).
type PlacedPassage struct {
	corpus.Passage
	reply.Place
	reply.Extent // in bytes
}

// placePassage returns a passage with its place.
func placePassage(p *corpus.Passage) PlacedPassage {
	return PlacedPassage{Passage: *p, Place: reply.PlaceOf(p), Extent: reply.ExtentOf(p, reply.OffsetBytes)}
}

// placePassages returns the passages, in their order, each with its place in its document (placePassage). The result is
// never nil.
func placePassages(passages []corpus.Passage) []PlacedPassage {
	out := make([]PlacedPassage, len(passages))
	for i := range passages {
		out[i] = placePassage(&passages[i])
	}
	return out
}

// dropPlaceFields deletes the fields of a passage's place, such as page, from the object of an upload, if its metadata
// say that it is from a document. So a client can read a passage, change its text, and put the whole object back.
func dropPlaceFields(object, metadata map[string]any) {
	if _, inDocument := metadata[corpus.DocumentKey].(string); !inDocument {
		return
	}
	for _, name := range []string{"document", "heading", "page", "page_end", "link", "begin", "end"} {
		delete(object, name)
	}
}

// matchesVersion reports whether an If-None-Match header names the version. The
// comparison is the weak one that the header asks for (RFC 9110, 13.1.2).
func matchesVersion(header []string, version string) bool {
	for candidate := range strings.SplitSeq(strings.Join(header, ","), ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == "*" || candidate == `"`+version+`"` || candidate == `"`+version+etagSuffix+`"` {
			return true
		}
	}
	return false
}

// PassageList is the answer of GET /v1/passages.
type PassageList struct {
	Passages []PlacedPassage `json:"passages"`
	Next     string          `json:"next,omitempty"`
}

// listLimit is the number of passages that are listed without a limit in the request.
const listLimit = 100

// getPassages answers GET /v1/passages with a page of the passages that the caller may see and that match the query's
// filter, by id. It returns a problem if the query is invalid, or the collection is not loaded or cannot be read.
func (a *API) getPassages(c *call) error {
	engine, err := c.admittedEngine()
	if err != nil {
		return err
	}
	limit, err := c.listLimit(listLimit, engine.Limits().K)
	if err != nil {
		return err
	}
	after, _ := c.query["after"].(string)
	ctx, err := c.restrictToQuery(engine)
	if err != nil {
		return err
	}
	passages, next, err := engine.List(ctx, search.Caller{}, after, limit)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, PassageList{Passages: placePassages(passages), Next: next})
}
