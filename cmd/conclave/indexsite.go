package main

import (
	"context"
	"errors"
	"time"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/server"
	"example.org/conclave/internal/sites"

	"github.com/spf13/pflag"
)

// siteFlags are the flags that say which pages of websites are read.
type siteFlags struct {
	include, exclude []string
	depth, pages     int
	set              *pflag.FlagSet
}

// bindFlags adds --include, --exclude, --depth and --pages to a command.
func (s *siteFlags) bindFlags(flags *pflag.FlagSet) {
	s.set = flags
	flags.StringArrayVar(&s.include, "include", nil,
		"read only the pages of a site whose path begins with this `pattern`; * stands for any characters, $ for the end; may be repeated")
	flags.StringArrayVar(&s.exclude, "exclude", nil,
		"leave out the pages of a site whose path begins with this `pattern`, such as /blog/ or *.pdf$; may be repeated")
	flags.IntVar(&s.depth, "depth", 0,
		"most `links` that lead from the start address of a site to a page (default: documents.site.depth of the configuration)")
	flags.IntVar(&s.pages, "pages", 0,
		"most `pages` of a site (default: documents.site.pages of the configuration)")
}

// check returns a usage error if the flags say something impossible, or have no effect since no input is a site.
func (s *siteFlags) check(inputs []string) error {
	anySite := false
	for _, in := range inputs {
		if !sites.IsAddress(in) {
			continue
		}
		anySite = true
		if _, err := server.StartOf(in); err != nil {
			return cli.Usagef("--in: %w", err)
		}
	}
	if !anySite {
		return refuseFlags(s.set, []string{"include", "exclude", "depth", "pages"},
			"is for a website: name its address with --in, such as https://docs.example.org/")
	}
	if s.depth < 0 || s.set.Changed("pages") && s.pages < 1 {
		return cli.Usagef("--depth is %d and --pages %d: at least 0 and 1 are possible", s.depth, s.pages)
	}
	return nil
}

// reading returns how the site at an address, as somebody wrote it, is read. The error says what is wrong with the
// address.
func (s *siteFlags) reading(config configs.Config, address string) (r server.SiteReading, err error) {
	start, err := server.StartOf(address)
	if err != nil {
		return r, err
	}
	d := config.Documents
	if s.set.Changed("depth") {
		d.Site.Depth = s.depth
	}
	if s.set.Changed("pages") {
		d.Site.Pages = s.pages
	}
	return server.SiteReading{
		Documents: d, Version: version,
		Request: server.SiteRequest{
			Start: start, Include: s.include, Exclude: s.exclude, Depth: d.Site.Depth, Pages: d.Site.Pages,
			AnyHost: true,
		},
	}, nil
}

// memoryPath returns the file with what is known of a site, by its start address as server.StartOf returns it. It is in
// the folder of the collection, or in the cache if target, the address of a store or server, is not "". It fails if the
// address is none, or the cache cannot be made.
func memoryPath(config configs.Config, target, start string) (string, error) {
	mark, err := documents.RootOf(start)
	if err != nil {
		return "", err
	}
	if target == "" {
		return sites.MemoryPath(config.Collection, mark), nil
	}
	return server.SiteMemoryElsewhere(config.Cache, target, mark)
}

// readSite reads the pages of one site for a build, and says what was left out. It fails if the site cannot be read or
// has no page that is read.
func (x *indexCommand) readSite(
	ctx context.Context,
	config configs.Config,
	address string,
	unread *unreadFiles,
	readers *documents.Pool,
	bar *cli.Progress,
) (*server.SiteFiles, error) {
	r, err := x.site.reading(config, address)
	if err != nil {
		return nil, err
	}
	r.Progress = bar.Counting("reading "+r.Request.Start, "pages")
	r.Waiting = tellWaiting(bar)
	r.Render = server.DocumentOptions(config.Documents, readers).Extractor().Render
	r.Warned = unread.warn
	r.Read = func(reading *sites.Reading) {
		x.tellReading(r.Request.Start, reading, bar)
		for _, f := range reading.Failed {
			unread.addFile(f.Address, f.Err)
		}
	}
	files, err := server.ReadSite(ctx, r)
	if err == nil && len(files.Pages) == 0 {
		err = errors.Join(errors.New("the site "+r.Request.Start+" has no page that is read"), files.Close())
	}
	return files, err
}

// tellWaiting returns a function for server.SiteReading.Waiting that prints the longer pauses.
func tellWaiting(bar *cli.Progress) func(address string, pause time.Duration, reason string) {
	return func(address string, pause time.Duration, reason string) {
		if pause >= server.ToldPause {
			bar.Say("  %s: %s; asking again in %v", cli.Printable(address), cli.Printable(reason), pause.Round(time.Second))
		}
	}
}

// siteReport is what --json says of a site.
type siteReport struct {
	Site      string          `json:"site"`
	Pages     int             `json:"pages"`     // whose content was read
	Unchanged int             `json:"unchanged"` // pages that are as they were
	Left      []sites.LeftOut `json:"left,omitempty"`
	Warnings  []string        `json:"warnings,omitempty"`
}

// tellReading adds a site to x.siteReports, ends bar's stage, and prints what was left out of the site, by reason, and
// what is to be said of it as a whole.
func (x *indexCommand) tellReading(start string, reading *sites.Reading, bar *cli.Progress) {
	x.siteReports = append(x.siteReports, siteReport{
		start, len(reading.Pages), len(reading.Unchanged), reading.Left, reading.Warnings,
	})
	bar.Finish()
	for _, l := range reading.Left {
		bar.Say("  %s", cli.Printable(l.String()))
	}
	for _, warning := range reading.Warnings {
		bar.Say("  %s", cli.Printable(warning))
	}
}

// keepMemories writes down what is known of the sites that were read, after a build, for the next --sync. It fails if a
// file cannot be written.
func (x *indexCommand) keepMemories(config configs.Config, unread *unreadFiles) error {
	for start, files := range x.sites {
		at, err := memoryPath(config, config.Store, start)
		if err == nil {
			err = files.KeepMemory(at, unread.failedPaths())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// closeSites removes the contents of the pages that were read.
func (x *indexCommand) closeSites() {
	for _, files := range x.sites {
		_ = files.Close() // in the folder of temporary files
	}
}

// siteReadings returns how each site among the inputs is read for --sync. target is the address of the store or server
// that has the collection; "" if it is in a folder. It fails for an address that cannot be read as configured.
func (x *indexCommand) siteReadings(
	config configs.Config, target string, bar *cli.Progress,
) (all []server.SiteReading, err error) {
	for _, in := range x.inputs.Files {
		if !sites.IsAddress(in.Path) {
			continue
		}
		r, err := x.site.reading(config, in.Path)
		if err != nil {
			return nil, err
		}
		r.MemoryPath, err = memoryPath(config, target, r.Request.Start)
		if err != nil {
			return nil, err
		}
		r.Progress = bar.Counting("reading "+r.Request.Start, "pages")
		r.Waiting = tellWaiting(bar)
		r.Read = func(reading *sites.Reading) {
			x.tellReading(r.Request.Start, reading, bar)
		}
		all = append(all, r)
	}
	return all, nil
}
