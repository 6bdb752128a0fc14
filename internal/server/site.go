package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/sites"
)

// SiteRequest says which pages of a site somebody wants.
type SiteRequest struct {
	Start            string // the address of a page
	Alone            bool   // the page at Start alone
	Include, Exclude []string
	Depth, Pages     int // those of documents.site are the most
	// Hosts are those that may be asked.
	Hosts []string
	// AnyHost lets every host be asked, and the one of Start at an address that is not public if Start names that
	// address itself, or localhost: for who may read all that this machine can.
	AnyHost bool
}

// SiteReading says how SyncSite and ReadSite go through a site, and whom they tell of it.
type SiteReading struct {
	Documents configs.Documents
	Request   SiteRequest
	Version   string // of the program, which the site is told
	// MemoryPath is the file with what the last reading left for this one (sites.MemoryPath); "": there is none.
	MemoryPath string
	// Progress is called with how many of so many known addresses were asked for. May be nil.
	Progress func(done, total int)
	// Waiting is called before each pause after which a page is asked for again, since the site is busy or does not
	// answer: with its address and the reason for people. May be nil. Several goroutines may call it.
	Waiting func(address string, pause time.Duration, reason string)
	// Render fetches a page that is built by scripts as a browser shows it; ok is false if there is no program for that
	// (documents.Extractor.Render). May be nil.
	Render func(ctx context.Context, address string) (page []byte, ok bool, err error)
	// Warned is called with what is doubtful about a page. May be nil.
	Warned func(id, warning string)
	// Read is called with what was found, before documents are changed. May be nil.
	Read func(*sites.Reading)
}

// ToldPause is how long a pause of a reading is from which on people are told of it.
const ToldPause = 3 * time.Second

// StartOf returns the start address of a site in the form that marks, ids and files of memory are made from. The error
// says to people what is wrong with it.
func StartOf(text string) (string, error) {
	u, err := sites.ParseAddress(text)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// SiteFiles are the pages of a site as files, which stay until Close.
type SiteFiles struct {
	Start  string // of the site, as StartOf returns it
	Pages  []documents.FoundFile
	memory *sites.Memory
	spool  *spool
}

// Close removes the contents of the pages. It fails if removing does.
func (f *SiteFiles) Close() error { return f.spool.remove() }

// KeepMemory writes down what the next reading needs to know of this one, once the collection has the pages. Those that
// could not be read are fetched again the next time. It does nothing without a path. It fails if the file cannot be
// written.
func (f *SiteFiles) KeepMemory(path string, failed []string) error {
	if path == "" {
		return nil
	}
	for _, p := range f.Pages {
		if slices.Contains(failed, p.Path) {
			f.memory.Forget(p.At)
		}
	}
	return f.memory.Save(disk.OS{}, path)
}

// ReadSite goes through a site and returns its pages, whether a collection has them or not. The caller closes them. The
// error is for people; if it is a *sites.DownError, the site could not be read at all.
func ReadSite(ctx context.Context, r SiteReading) (*SiteFiles, error) {
	files, _, err := r.read(ctx, nil, nil)
	return files, err
}

// read goes through the site. had are the addresses of pages that the collection has, and before what is known of them.
// It fails if the site cannot be read, after which no temporary files are left.
func (r SiteReading) read(
	ctx context.Context, had []string, before *sites.Memory,
) (files *SiteFiles, reading *sites.Reading, err error) {
	o, err := r.options()
	if err != nil {
		return nil, nil, err
	}
	o.Had, o.Before = had, before
	folder, err := makeSpool(ctx)
	if err != nil {
		return nil, nil, err
	}
	o.Spool = folder.path
	reading, err = sites.Read(ctx, o)
	if err != nil {
		_ = folder.remove()
		return nil, nil, err
	}
	if r.Read != nil {
		r.Read(reading)
	}
	mark, err := documents.RootOf(r.Request.Start)
	if r.Request.Alone {
		mark = ""
	}
	files = &SiteFiles{Start: r.Request.Start, memory: reading.Memory, spool: folder}
	for i := range reading.Pages {
		p := &reading.Pages[i]
		if p.Scripted {
			if err := r.render(ctx, p); err != nil {
				return nil, nil, errors.Join(err, files.Close())
			}
		}
		files.Pages = append(files.Pages, documents.FoundFile{
			Path: documents.DocumentID(p.Address), At: p.Address, Source: p.Address, Mark: mark, Type: p.Type,
			Size: p.Bytes, ModTime: p.Modified,
			Data: func() ([]byte, error) { return os.ReadFile(p.File) },
		})
	}
	return files, reading, err
}

// render puts what Render makes of a page that is built by scripts in the place of its content, and warns of the page.
// The error is ctx's.
func (r SiteReading) render(ctx context.Context, p *sites.Page) error {
	const scripted = "it has hardly any text: the page seems to be built by scripts"
	warning := scripted + ", which are not run"
	if r.Render != nil {
		page, ok, err := r.Render(ctx, p.Address)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && ok {
			err = os.WriteFile(p.File, page, 0o600)
			p.Bytes = int64(len(page))
			warning = scripted + ", which a program has run"
		}
		if err != nil {
			warning = scripted + ": " + err.Error()
		}
	}
	if r.Warned != nil {
		r.Warned(documents.DocumentID(p.Address), warning)
	}
	return nil
}

// options returns the options for reading the site. The error is for people.
func (r SiteReading) options() (o sites.Options, err error) {
	d := r.Documents
	start, err := sites.ParseAddress(r.Request.Start)
	if err != nil {
		return o, err
	}
	o = sites.Options{
		Start: start, Alone: r.Request.Alone,
		Depth: min(r.Request.Depth, d.Site.Depth), Pages: min(r.Request.Pages, d.Site.Pages),
		Bytes: int64(d.Site.Bytes), PageBytes: int64(d.FileBytes), PageTime: d.Site.Timeout, Time: d.Site.Time,
		Connections: d.Site.Connections, Rate: d.Site.Rate, Attempts: d.Site.Attempts,
		Agent:      strings.TrimSuffix("conclave/"+r.Version, "/"),
		IsReadable: documents.IsReadable, Progress: r.Progress, Waiting: r.Waiting,
		Reach: sites.Reach{Hosts: r.Request.Hosts, AnyHost: r.Request.AnyHost},
	}
	for _, text := range d.Networks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return o, fmt.Errorf("documents.networks: %w", err)
		}
		o.Reach.Networks = append(o.Reach.Networks, network)
	}
	if r.Request.AnyHost {
		o.Reach.Networks = append(o.Reach.Networks, namedNetworks(start.Hostname())...)
	}
	for _, p := range r.Request.Include {
		o.Include = append(o.Include, sites.Pattern(p))
	}
	for _, p := range r.Request.Exclude {
		o.Exclude = append(o.Exclude, sites.Pattern(p))
	}
	return o, nil
}

// namedNetworks returns the network of a host that is named by its address, or of localhost; nil for other names.
func namedNetworks(host string) []netip.Prefix {
	if host == "localhost" {
		return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	a = a.Unmap()
	return []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}
}

// SiteTarget is the collection that SyncSite changes, and how it reads pages.
type SiteTarget struct {
	To        keeping.Target
	Reader    *documents.Extractor
	AtOnce    int
	DeleteAll bool
	Tags      []string // of the documents
	// Failed, Warned and Progress are those of keeping.PagesOptions.
	Failed   func(id string, err error)
	Warned   func(id, warning string)
	Progress func(done, total int64)
}

// SyncSite makes a collection match a site (keeping.SyncPages). Pages that did not change since the last reading are
// not fetched. The error is for people; a *sites.DownError changes nothing.
func SyncSite(ctx context.Context, t SiteTarget, r SiteReading) (synced keeping.SyncReport, err error) {
	r.Render = t.Reader.Render
	r.Warned = t.Warned
	before := &sites.Memory{}
	if r.MemoryPath != "" {
		before, err = sites.LoadMemory(disk.OS{}, r.MemoryPath)
		if err != nil {
			return synced, err
		}
	}
	var files *SiteFiles
	var failed []string
	unread := 0
	synced, err = keeping.SyncPages(ctx, t.To, keeping.PagesOptions{
		Site: r.Request.Start, Reader: t.Reader, AtOnce: t.AtOnce, DeleteAll: t.DeleteAll, Tags: t.Tags,
		Find: func(ctx context.Context, had []string) (found keeping.FoundPages, err error) {
			var reading *sites.Reading
			files, reading, err = r.read(ctx, had, before)
			if err != nil {
				return found, err
			}
			found.Pages = files.Pages
			found.Unchanged, found.Kept = idsOf(reading.Unchanged), idsOf(reading.Kept)
			unread = len(reading.Failed)
			t.tell(reading)
			return found, nil
		},
		Failed: func(id string, err error) {
			failed = append(failed, id)
			if t.Failed != nil {
				t.Failed(id, err)
			}
		},
		Warned: t.Warned, Progress: t.Progress,
	})
	synced.Failed += unread
	if files == nil {
		return synced, err
	}
	defer func() { _ = files.Close() }()
	if err != nil {
		return synced, err
	}
	return synced, files.KeepMemory(r.MemoryPath, failed)
}

// tell tells Failed of the pages of a reading that could not be fetched.
func (t SiteTarget) tell(reading *sites.Reading) {
	for _, f := range reading.Failed {
		if t.Failed != nil {
			t.Failed(f.Address, f.Err)
		}
	}
}

// idsOf returns the ids of the documents of pages.
func idsOf(addresses []string) []string {
	ids := slices.Clone(addresses)
	for i := range ids {
		ids[i] = documents.DocumentID(ids[i])
	}
	return ids
}
