package handlers

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/wording"
)

// checkAccept returns a problem (406) unless the request's Accept headers allow one of the produced media types.
// Without the header every type is allowed.
func checkAccept(r *http.Request, produced []string) *schema.Problem {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return nil
	}
	for _, t := range produced {
		if acceptQuality(accept, t) > 0 {
			return nil
		}
	}
	return schema.NewProblem(
		"not_acceptable",
		fmt.Sprintf("Accept is %s; this path answers with %s.", wording.Quote(accept), strings.Join(produced, " or ")),
	)
}

// acceptQuality returns the weight, from 0 to 1, that an Accept header gives to the media type offered; 0: it is not
// accepted. The most specific matching range counts (RFC 9110, section 12.5.1). Ranges that are malformed, or ask for
// another charset than UTF-8, are ignored.
func acceptQuality(accept, offered string) float64 {
	offeredType, _, _ := strings.Cut(offered, "/")
	best := -1
	most := 0.0
	for element := range strings.SplitSeq(accept, ",") {
		name, parameters, err := mime.ParseMediaType(element)
		if err != nil && name == "" {
			continue
		}
		var specific int
		switch {
		case name == offered:
			specific = 2
		case name == offeredType+"/*":
			specific = 1
		case name == "*/*":
			specific = 0
		default:
			continue
		}
		q := 1.0
		if text, ok := parameters["q"]; ok {
			q, err = strconv.ParseFloat(text, 64)
			if err != nil || q < 0 || q > 1 {
				continue
			}
		}
		// JSON is UTF-8 by definition: asking for another charset asks for
		// something that is not served.
		if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
			continue
		}
		if specific > best || specific == best && q > most {
			best, most = specific, q
		}
	}
	return most
}

// checkContentType returns a problem (415) unless the request's Content-Type and Content-Encoding are ones that the
// operation takes. A body of JSON has to be in UTF-8 and not encoded; one of lines may be encoded by gzip. A file may
// have any type or none, and no encoding.
func checkContentType(r *http.Request, o *schema.Operation) *schema.Problem {
	given := r.Header.Values("Content-Type")
	usual := schema.TypeJSON
	switch {
	case o.TakesLines():
		usual = schema.TypeLines
	case !slices.Contains(o.Takes, schema.TypeJSON):
		usual = o.Takes[0]
	}
	unsupported := func(format string, args ...any) *schema.Problem {
		return schema.NewProblem(
			"unsupported_media_type", fmt.Sprintf(format, args...)+" Send the body with \"Content-Type: "+usual+"\".",
		)
	}
	if o.TakesFiles() { // whose type is found out
		if len(given) < 2 && len(r.Header.Values("Content-Encoding")) == 0 {
			return nil
		}
		const detail = "Send the file as it is, without Content-Encoding, and with one Content-Type."
		return schema.NewProblem("unsupported_media_type", detail)
	}
	if len(given) == 0 || given[0] == "" {
		return unsupported("The body's type is not declared.")
	}
	name, parameters, err := mime.ParseMediaType(given[0])
	if len(given) > 1 || err != nil || !slices.Contains(o.Takes, name) {
		return unsupported("The body is declared as %s.", wording.Quote(strings.Join(given, ", ")))
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return unsupported("The body is declared as %s, and JSON is UTF-8.", wording.Quote(given[0]))
	}
	encoding := r.Header.Values("Content-Encoding")
	if len(encoding) == 0 || slices.Equal(encoding, []string{"identity"}) ||
		o.TakesLines() && slices.Equal(encoding, []string{"gzip"}) {
		return nil
	}
	taken := "as it is alone"
	if o.TakesLines() {
		taken = "as it is, or with gzip"
	}
	return unsupported(
		"The body is declared to be encoded (%s), and is taken %s.", wording.Quote(strings.Join(encoding, ", ")), taken,
	)
}
