package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/server"
	"example.org/conclave/internal/sites"
)

// syncReport is what --sync did.
type syncReport struct {
	keeping.SyncReport
	unreadFiles
	Sites []siteReport `json:"sites,omitempty"`
}

// syncCollection makes the documents of an existing collection, or of the server at --url, match the files given with
// --in, and prints what it did. It fails if documents of missing files were held, which --delete-all would remove, and
// with --strict if a file could not be read. After another error, the changes before it stay, the error says how many
// there were, and the same command does the rest.
func (x *indexCommand) syncCollection(
	ctx context.Context, config configs.Config, term cli.Terminal, bar *cli.Progress,
) error {
	readers, err := openReaders(config, false)
	if err != nil {
		return err
	}
	defer func() { _ = readers.Close() }()
	unread := &unreadFiles{}
	o := keeping.SyncOptions{
		GitIgnore: config.Documents.GitIgnore, DeleteAll: x.deleteAll, MovedFrom: x.movedFrom,
		Failed: unread.addFile, Warned: unread.warn,
		Progress: func(done, total int64) { bar.Report("comparing files", done, total, "bytes") },
	}
	for _, in := range x.inputs.Files {
		if !sites.IsAddress(in.Path) {
			o.Roots = append(o.Roots, in.Path)
		}
	}
	var synced keeping.SyncReport
	where := config.Passages()
	readings, err := x.siteReadings(config, cmp.Or(x.server.url, config.Store), bar)
	if err != nil {
		return err
	}
	if x.server.url == "" {
		synced, err = server.Sync(ctx, server.SyncRequest{
			Config: config, Log: cli.NewPlainLogger(term.Err, config.Log), Readers: readers, Sync: o, Sites: readings,
		})
	} else {
		where = x.server.url
		synced, err = x.syncServed(ctx, term, server.DocumentOptions(config.Documents, readers).Extractor(), o, readings)
	}
	bar.Finish()
	if err != nil {
		if synced.Changed() {
			err = fmt.Errorf("%w (%s; the same command goes on)", err, describeSynced(synced))
		}
		return err
	}
	unread.printAll(!x.asJSON, func(format string, args ...any) { bar.Say(format, args...) })
	err = cli.Show(term.Out, x.asJSON, syncReport{synced, *unread, x.siteReports}, func(w *cli.ErrWriter) {
		w.Printf("%s: %s\n", where, describeSynced(synced))
	})
	if err == nil && len(synced.Held) > 0 {
		var reasons []string
		for _, held := range synced.Held {
			reasons = append(reasons, held.String())
		}
		return fmt.Errorf("%s. To remove them, add --delete-all", strings.Join(reasons, "; "))
	}
	if err == nil && x.strict && synced.Failed > 0 {
		err = fmt.Errorf("%s could not be read; what was read is indexed", cli.Plural(int64(synced.Failed), "file"))
	}
	return err
}

// syncServed makes the documents of the server at --url match the files in o, and returns what it changed. It returns a
// usage error if the address is invalid, and the errors of the function syncServed.
func (x *indexCommand) syncServed(
	ctx context.Context,
	term cli.Terminal,
	reader *documents.Extractor,
	o keeping.SyncOptions,
	readings []server.SiteReading,
) (keeping.SyncReport, error) {
	to, err := x.server.newClient(term.Environ)
	if err != nil {
		return keeping.SyncReport{}, err
	}
	return syncServed(ctx, to, reader, o, readings)
}

// describeSynced returns the numbers of documents that were added, replaced, removed, left and not read, in words.
func describeSynced(s keeping.SyncReport) string {
	return fmt.Sprintf("%s added, %d replaced, %d removed, %d unchanged, %d failed",
		cli.Plural(int64(s.Added), "document"), s.Replaced, s.Removed, s.Unchanged, s.Failed)
}

// checkSync returns a usage error if an input is not a file or folder of documents: standard input, an input with
// --id-prefix, or a file of passages without --format documents. It fails if an input cannot be opened.
func (x *indexCommand) checkSync() error {
	for _, in := range x.inputs.Files {
		if in.Path == "-" || in.IDPrefix != "" {
			return cli.Usagef("--sync follows files and folders of documents: name them with --in, without --id-prefix")
		}
		if sites.IsAddress(in.Path) {
			continue
		}
		holds, err := documents.Holds(in.Path)
		if err != nil {
			return err
		}
		if !holds && x.format != documentsFormat {
			return cli.Usagef("--sync: %s holds passages, not documents: add --format documents to read it as a document", in.Path)
		}
	}
	return nil
}
