package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"conclave/search"
)

// postEmbed answers POST /v1/embed.
func (a *API) postEmbed(w http.ResponseWriter, r *http.Request) error {
	engine, err := a.loaded(r)
	if err != nil {
		return err
	}
	body, err := a.readJSON(w, r)
	if err != nil {
		return err
	}
	registry := a.document.Components.Schemas
	decoded, p := decode[embedBody](registry, registry.SchemaFromRef(schemaRef("EmbedRequest")), body, maxViolations)
	if p != nil {
		return p
	}
	if p := a.hold(r.Context(), (len(decoded.Input)+textsAPlace-1)/textsAPlace); p != nil {
		return p
	}
	response, err := engine.Embed(r.Context(), search.EmbedRequest(decoded))
	if err != nil {
		return err
	}
	return respond(w, response)
}

// getExperts answers GET /v1/experts.
func (a *API) getExperts(w http.ResponseWriter, r *http.Request) error {
	engine, err := a.loaded(r)
	if err != nil {
		return err
	}
	if p := noParameters(r); p != nil {
		return p
	}
	experts := []search.ExpertInfo{}
	for _, expert := range engine.Experts() {
		experts = append(experts, withoutNulls(expert))
	}
	return respond(w, ExpertList{Experts: experts})
}

// withoutNulls writes what nobody measured as {} and not as null, as the
// contract has it.
func withoutNulls(expert search.ExpertInfo) search.ExpertInfo {
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

// ExpertList is the answer of /v1/experts.
type ExpertList struct {
	Experts []search.ExpertInfo `json:"experts"`
}

// getExpert answers GET /v1/experts/{name}.
func (a *API) getExpert(w http.ResponseWriter, r *http.Request) error {
	engine, err := a.loaded(r)
	if err != nil {
		return err
	}
	if p := noParameters(r); p != nil {
		return p
	}
	name, p := lastOf(r, "/v1/experts/")
	if p != nil {
		return p
	}
	expert, err := engine.Expert(name)
	if err != nil {
		return err
	}
	return respond(w, withoutNulls(expert))
}

// etagSuffix is what the compression adds to an ETag, since a compressed
// answer is another sequence of bytes.
const etagSuffix = "-gzip"

// getPassage answers GET /v1/passages/{id}.
func (a *API) getPassage(w http.ResponseWriter, r *http.Request) error {
	if p := noParameters(r); p != nil {
		return p
	}
	id, p := lastOf(r, "/v1/passages/")
	if p != nil {
		return p
	}
	passage, version, err := a.stored(r, id)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", `"`+version+`"`)
	w.Header().Set("Cache-Control", "private, no-cache") // keep it, and ask
	if matches(r.Header.Values("If-None-Match"), version) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return respond(w, passage)
}

// lastOf is the rest of the path after a prefix, unescaped: ids may hold
// slashes, written as they are or as %2F.
func lastOf(r *http.Request, prefix string) (string, *Problem) {
	rest, err := url.PathUnescape(strings.TrimPrefix(routePath(r), prefix))
	if r.URL.RawPath == "" {
		rest, err = strings.TrimPrefix(r.URL.Path, prefix), nil
	}
	switch {
	case err != nil || invalidUTF8([]byte(rest)) >= 0:
		return "", newProblem("invalid_utf8", "The path has to be UTF-8, percent-encoded.")
	case rest == "":
		return "", newProblem("no_such_path", fmt.Sprintf("The path ends after %s; a name or id is missing.", prefix))
	}
	return rest, nil
}

// noParameters refuses a query string where there is nothing to ask for, so
// that a misplaced parameter is not ignored in silence.
func noParameters(r *http.Request) *Problem {
	if r.URL.RawQuery == "" {
		return nil
	}
	name, _, _ := strings.Cut(r.URL.RawQuery, "=")
	return newProblem("unknown_parameter", fmt.Sprintf("This path takes no parameters, and got %s.", quoted(name)))
}

// matches reports whether an If-None-Match header names the version. The
// comparison is the weak one that the header asks for (RFC 9110, 13.1.2).
func matches(header []string, version string) bool {
	for candidate := range strings.SplitSeq(strings.Join(header, ","), ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == "*" || candidate == `"`+version+`"` || candidate == `"`+version+etagSuffix+`"` {
			return true
		}
	}
	return false
}
