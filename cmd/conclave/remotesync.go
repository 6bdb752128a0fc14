package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	client "example.org/conclave/client/go"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/server"
	"example.org/conclave/store"

	"github.com/spf13/pflag"
)

// servedDocuments is the keeping.Target of a sync with a running server. It also reads each mail itself, since the
// attachments of a mail are put as documents of their own. It is for one sync at a time, by one goroutine.
type servedDocuments struct {
	server *client.Client
	mails  *documents.Extractor
	last   string // the document that was written last
	sum    string // its SHA-256; "" where it was deleted
	// again puts the last file once more and returns when searches see it.
	again func(context.Context) error
	// The list that is being read, and where it stands.
	listed    func() (client.Document, error, bool)
	stop      func()
	continues string
}

// syncAttempts is how often a request is sent to a server that has too much to do.
const syncAttempts = 10

// syncServed makes the documents of a running server equal to the files of o (keeping.Sync), waits until searches see
// the changes, and returns what it did. A request that the server refuses because it is busy is sent up to syncAttempts
// times. After an error the changes before it stay, and the report has them.
func syncServed(
	ctx context.Context,
	served *client.Client,
	reader *documents.Extractor,
	o keeping.SyncOptions,
	readings []server.SiteReading,
) (keeping.SyncReport, error) {
	served.Attempts = syncAttempts
	to := &servedDocuments{server: served, mails: reader}
	o.Reader = reader
	synced, err := server.SyncAll(ctx, to, o, readings)
	to.endListing()
	if err != nil {
		return synced, err
	}
	return synced, to.awaitVisible(ctx)
}

// Put implements keeping.Target: it puts a document on the server, which adds or replaces it. A mail's attachments are
// given to f.Attached one by one, also if the mail itself is refused. A *documents.UnreadableError and keeping.OfFile
// are about this file alone.
func (s *servedDocuments) Put(ctx context.Context, f keeping.DocumentFile) (r keeping.ChangeResult, err error) {
	about := client.AboutDocument{
		ContentType: f.Type, Title: f.Title, Source: f.Source, Tags: f.Tags, Metadata: f.Metadata,
		Modified: f.Modified, Root: f.Root, Encoding: s.mails.Encoding(),
	}
	named := corpus.Passage{ID: corpus.PassageID(f.ID, 1), Text: "x"}
	if err := named.Check(); err != nil { // an address may not be able to say it
		return r, err
	}
	put, err := s.server.PutDocument(ctx, f.ID, f.Data, about, client.Write{})
	attached := s.attachmentsOf(ctx, f)
	if err != nil {
		err = servedFileError(err)
		if f.Attached == nil {
			return r, err
		}
		return r, errors.Join(err, forEachAttachment(attached, f.Attached))
	}
	s.last = f.ID
	s.sum = documents.SumOf(f.Data)
	s.again = func(ctx context.Context) error {
		_, err := s.server.PutDocument(ctx, f.ID, f.Data, about, client.Write{Visible: true})
		return err
	}
	r = keeping.ChangeResult{ID: put.ID, Outcome: store.Outcome(put.Status), Version: put.Version, Warnings: put.Warnings}
	for _, a := range attached {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return w == keeping.AttachedWarning(a.Name) })
	}
	return r, forEachAttachment(attached, f.Attached)
}

// attachmentsOf returns the attachments of a mail, which are put as documents of their own. It returns nil if the file
// is not a mail or cannot be read as one.
func (s *servedDocuments) attachmentsOf(ctx context.Context, f keeping.DocumentFile) []documents.Member {
	if !documents.IsMail(f.Data, f.ID, f.Type) {
		return nil
	}
	_, attached, _ := s.mails.Read(ctx, documents.Input{Name: f.ID, Type: f.Type, Data: f.Data})
	return attached
}

// forEachAttachment calls do with each attachment and returns its first error.
func forEachAttachment(attached []documents.Member, do func(documents.Member) error) error {
	for _, a := range attached {
		if err := do(a); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements keeping.Target: it deletes a document on the server. If there is none, the outcome is store.Absent
// and the error nil.
func (s *servedDocuments) Delete(ctx context.Context, id string) (keeping.ChangeResult, error) {
	_, err := s.server.DeleteDocument(ctx, id, client.Write{})
	if client.Code(err) == "unknown_document" {
		return keeping.ChangeResult{ID: id, Outcome: store.Absent}, nil
	}
	s.last, s.sum = id, ""
	return keeping.ChangeResult{ID: id, Outcome: store.Deleted}, err
}

// Documents implements keeping.Target: it returns up to limit documents, and the after of the next call, "" at the end.
// after must be that, or "" for a new listing: other ids also begin at the first document. All calls of a listing read
// from one request. It fails if the request does.
func (s *servedDocuments) Documents(
	ctx context.Context,
	after string,
	limit int,
) (found []corpus.Document, next string, err error) {
	if s.listed == nil || after != s.continues {
		s.endListing()
		s.listed, s.stop = iter.Pull2(s.server.Documents(ctx, "", ""))
	}
	for len(found) < limit {
		d, err, ok := s.listed()
		if !ok {
			return found, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		found = append(found, corpus.Document{
			ID: d.ID, Source: d.Source, SHA256: d.SHA256, Root: d.Root, Modified: d.Modified,
		})
		s.continues = d.ID
	}
	return found, s.continues, nil
}

// endListing ends the request that lists the server's documents, if there is one.
func (s *servedDocuments) endListing() {
	if s.stop != nil {
		s.stop()
	}
}

// awaitVisible waits until searches see what was written last, and with it all that was written before. The copies of a
// cluster show a change at different times, so a list says too little: the file that was put last is put once more,
// which changes nothing and waits for all of them. It does nothing if nothing was written. It waits until ctx ends, and
// fails with its error, or as a request does.
func (s *servedDocuments) awaitVisible(ctx context.Context) error {
	if s.again != nil {
		if err := s.again(ctx); err != nil {
			return err
		}
	}
	for pause := 20 * time.Millisecond; s.last != ""; pause = min(2*pause, time.Second) {
		sum := ""
		for d, err := range s.server.Documents(ctx, s.last, "") { // it comes before all that its id begins
			if err != nil {
				return err
			}
			if d.ID == s.last {
				sum = d.SHA256
			}
			break
		}
		if sum == s.sum {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// servedFileError converts the error of a request that the server refused because of the file into the error of one
// file, after which a sync goes on: a *documents.UnreadableError with the reason, or keeping.OfFile. It returns other
// errors as they are.
func servedFileError(err error) error {
	var problem *client.Problem
	if !errors.As(err, &problem) {
		return err
	}
	refused := &documents.UnreadableError{Detail: problem.Detail}
	switch problem.Code {
	case "unreadable_document":
		refused.Reason = documents.Damaged
		if len(problem.Fields) > 0 {
			refused.Reason = documents.Reason(problem.Fields[0].Detail)
		}
	case "unsupported_media_type":
		refused.Reason = documents.Unsupported
	case "body_too_large":
		refused.Reason = documents.TooLarge
	default:
		if problem.Status == http.StatusBadRequest || problem.Status == http.StatusUnprocessableEntity {
			return keeping.OfFile(err)
		}
		return err
	}
	return refused
}

// checkServed returns a usage error for flags that have no effect with --url, since the server decides how its
// collection is built, and for --url without --sync.
func (x *indexCommand) checkServed(flags *pflag.FlagSet) error {
	if err := x.server.checkFlags(flags); err != nil || x.server.url == "" {
		return err
	}
	if !x.follow {
		return cli.Usagef("--url is for --sync: a running server takes passages over HTTP, with POST /v1/passages")
	}
	why := fmt.Sprintf("has no effect with --url %s: the server decides that, so leave it out", x.server.url)
	return refuseFlags(flags, []string{
		"store", "experts", "replace", "skip-bad", "phrases", "analysis", "index", "m", "ef-construction", "seed",
		"threads", "share", "documents-words", "bundles", "encoder-provider", "cluster-shards", "cluster-replicas",
		"fields",
	}, why)
}
