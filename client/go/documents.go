package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Document is a file that was cut into passages.
type Document struct {
	ID        string         `json:"id"`
	Title     string         `json:"title,omitempty"`
	Source    string         `json:"source"` // where it is from; its id where nobody said
	MediaType string         `json:"media_type,omitempty"`
	SHA256    string         `json:"sha256,omitempty"`   // of its file
	Bytes     int            `json:"bytes,omitempty"`    // of its file
	Modified  time.Time      `json:"modified,omitzero"`  // when its file was changed last
	Root      string         `json:"root,omitempty"`     // the mark of the folder that it follows
	Original  string         `json:"original,omitempty"` // "copy" or "file": Original has its file; "": it is not kept
	Passages  int            `json:"passages"`           // how many it has
	Tags      []string       `json:"tags,omitempty"`     // of all its passages
	Metadata  map[string]any `json:"metadata,omitempty"` // of all its passages
}

// DocumentText is a document with its text as it was read.
type DocumentText struct {
	Document
	Version string `json:"version"`
	Text    string `json:"text"`
}

// AboutDocument is what is said of a file. Zero values are left out.
type AboutDocument struct {
	ContentType string // found out where it is ""
	Title       string // in place of that of the file
	Source      string
	Tags        []string
	Metadata    map[string]any // flat
	Modified    time.Time
	Encoding    string // of a text, such as windows-1251; found out where it is ""
	// Root is a mark of documents that are put together, such as those of a folder.
	Root string
}

// PutDocument uploads a file as the document with this id, and replaces the whole document if there is one. The server
// cuts it into passages. It fails if a condition of w is not met (version_mismatch) or the file cannot be read
// (unreadable_document, unsupported_media_type).
func (c *Client) PutDocument(
	ctx context.Context,
	id string,
	file []byte,
	about AboutDocument,
	w Write,
) (out Written, err error) {
	r := w.call(http.MethodPut, id, nil)
	r.path = documentPath(id)
	r.raw = file
	r.header.Set("Content-Type", "application/octet-stream")
	if about.ContentType != "" {
		r.header.Set("Content-Type", about.ContentType)
	}
	for name, value := range map[string]string{
		"title": about.Title, "source": about.Source, "tags": strings.Join(about.Tags, ","),
		"root": about.Root, "encoding": about.Encoding,
	} {
		if value != "" {
			r.query.Set(name, value)
		}
	}
	if !about.Modified.IsZero() {
		r.query.Set("modified", about.Modified.UTC().Format(time.RFC3339))
	}
	if len(about.Metadata) > 0 {
		text, err := json.Marshal(about.Metadata)
		if err != nil {
			return out, err
		}
		r.query.Set("metadata", string(text))
	}
	_, err = c.do(ctx, r, &out)
	return out, err
}

// documentPath returns the path of a document.
func documentPath(id string) string { return "/v1/documents/" + url.PathEscape(id) }

// Document returns a document with its text. The code of the error is unknown_document if there is none.
func (c *Client) Document(ctx context.Context, id string) (out DocumentText, err error) {
	query := url.Values{"text": {"true"}}
	_, err = c.do(ctx, call{method: http.MethodGet, path: documentPath(id), query: query}, &out)
	return out, err
}

// Original opens the file that a document was read from, and returns its media type: that of PDF, of an image or of
// plain text, else application/octet-stream. The caller closes it. The code of the error is no_original if the file is
// not kept.
func (c *Client) Original(ctx context.Context, id string) (file io.ReadCloser, mediaType string, err error) {
	answer, err := c.openResponse(ctx, call{method: http.MethodGet, path: "/v1/originals/" + url.PathEscape(id)}, nil)
	if err != nil {
		return nil, "", err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, answer.Header.Get("Content-Type"), nil
	}
	data, err := io.ReadAll(answer.Body)
	return nil, "", errors.Join(problemOf(answer, data), err, answer.Body.Close())
}

// DeleteDocument deletes a document with all its passages. It fails if a condition of w is not met. The code of the
// error is then version_mismatch; unknown_document if there is none.
func (c *Client) DeleteDocument(ctx context.Context, id string, w Write) (out Written, err error) {
	r := w.call(http.MethodDelete, id, nil)
	r.path = documentPath(id)
	_, err = c.do(ctx, r, &out)
	return out, err
}

// Site is a page of the web, or a site, whose pages become documents with their addresses as ids.
type Site struct {
	URL string `json:"url"`
	// Whole takes all pages of the site below the folder of URL, replaces what changed since the last time, and removes
	// documents whose pages are gone.
	Whole   bool     `json:"site,omitempty"`
	Include []string `json:"include,omitempty"` // patterns of paths that are read; none: all
	Exclude []string `json:"exclude,omitempty"` // patterns of paths that are not read
	Depth   int      `json:"depth,omitempty"`   // most links from URL to a page; 0: the server's
	Pages   int      `json:"pages,omitempty"`   // most pages; 0: the server's
}

// AddSite starts a job that reads a page or a site, whose documents get the tags. The code of the error is
// host_not_allowed if the administrator has not allowed the host.
func (c *Client) AddSite(ctx context.Context, site Site, tags ...string) (Job, error) {
	query := url.Values{}
	if len(tags) > 0 {
		query.Set("tags", strings.Join(tags, ","))
	}
	return c.start(ctx, call{method: http.MethodPost, path: "/v1/documents", query: query, body: site})
}

// Documents returns the documents that searches see, over several requests: those whose ids begin with prefix and whose
// ids or titles contain match. With "", each of these matches all. After an error it yields nothing more. The next
// request is sent when the documents of the one before were taken.
func (c *Client) Documents(ctx context.Context, prefix, match string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		query := url.Values{}
		if prefix != "" {
			query.Set("prefix", prefix)
		}
		if match != "" {
			query.Set("q", match)
		}
		for {
			var page struct {
				Documents []Document
				Next      string
			}
			if _, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/documents", query: query}, &page); err != nil {
				yield(Document{}, err)
				return
			}
			for _, d := range page.Documents {
				if !yield(d, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			query.Set("after", page.Next)
		}
	}
}
