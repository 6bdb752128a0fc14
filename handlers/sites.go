package handlers

import (
	"errors"
	"fmt"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/sites"
)

// siteBody asks for the documents of a page, or of the site that begins with it.
type siteBody struct {
	URL     string   `json:"url"`
	Site    bool     `json:"site"`
	Include []string `json:"include"`
	Exclude []string `json:"exclude"`
	Depth   int      `json:"depth"` // 0: the server's
	Pages   int      `json:"pages"` // 0: the server's
}

// postSite answers POST /v1/documents with a body of JSON: it starts the job that reads a page or a site. It returns
// the problem host_not_allowed if the administrator has not allowed the host, and invalid_document if the address
// cannot be read.
func (a *API) postSite(c *call) error {
	var body siteBody
	if err := c.decodeBody(&body); err != nil {
		return err
	}
	for _, name := range []string{"prefix", "encoding"} {
		if _, given := c.query[name]; given {
			return schema.NewProblem("unused_option", fmt.Sprintf("%s is for files; pages have their addresses as ids.", name))
		}
	}
	start, err := sites.ParseAddress(body.URL)
	if err != nil {
		return schema.NewProblem("invalid_document", schema.Sentence(err.Error()))
	}
	reach := sites.Reach{Hosts: a.options.Write.Hosts}
	var refused *sites.HostError
	if err := reach.CheckHost(start); errors.As(err, &refused) {
		return schema.NewProblem("host_not_allowed", fmt.Sprintf(
			"Pages of %.200q may not be added: the administrator of this server has to allow the host (documents.hosts).",
			refused.Host,
		))
	}
	if err := checkPatterns(body); err != nil {
		return err
	}
	site := &jobs.SiteRequest{
		URL: start.String(), Whole: body.Site, Include: body.Include, Exclude: body.Exclude, Depth: body.Depth,
		Pages: body.Pages,
	}
	job, err := a.submitJob(c, jobs.Request{
		Kind: jobs.ReadSite, Name: site.URL, Tags: stringsOf(c.query["tags"]), Site: site,
	})
	if err != nil {
		return err
	}
	return c.respond(c.status, job)
}

// Bounds of the patterns of a request.
const (
	mostPatterns     = 100
	mostPatternBytes = 500
)

// checkPatterns returns the problem out_of_range if a pattern is empty or too long, or there are too many.
func checkPatterns(body siteBody) error {
	for name, patterns := range map[string][]string{"include": body.Include, "exclude": body.Exclude} {
		if len(patterns) > mostPatterns {
			return schema.NewProblem("out_of_range", fmt.Sprintf(
				"%s has %d patterns; at most %d are possible.", name, len(patterns), mostPatterns,
			))
		}
		for i, p := range patterns {
			if p == "" || len(p) > mostPatternBytes {
				detail := fmt.Sprintf("has to have from 1 to %d bytes", mostPatternBytes)
				return schema.NewProblem(
					"out_of_range", fmt.Sprintf("/%s/%d has %d bytes; it %s.", name, i, len(p), detail),
					schema.ProblemField{Pointer: fmt.Sprintf("/%s/%d", name, i), Detail: detail},
				)
			}
		}
	}
	return nil
}
