// Package doctor examines what serving a configuration needs: the runtime, the bundles, the
// collection or the store, memory, files and disk.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/configs"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/capacity"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/stores"
	"example.org/conclave/models"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
)

// Status is the state of one thing that serving needs.
type Status string

// The states.
const (
	StatusOK    Status = "ok"
	StatusNote  Status = "note"  // serving works without it
	StatusFails Status = "fails" // serving does not work
)

// Finding is the result of examining one thing that serving needs.
type Finding struct {
	What   string
	Status Status
	Detail string
	Err    error // the cause of StatusFails, where there is one
}

// Examine examines everything that serving a configuration needs, and returns a Finding for each thing, in a fixed
// order. It opens the runtime, each bundle and the collection as a server would, and asks configured servers of
// generators. A failure does not stop it. It fetches nothing.
func Examine(ctx context.Context, config configs.Config, cache provision.Cache) []Finding {
	out := []Finding{
		{
			What:   "processor",
			Status: StatusOK,
			Detail: fmt.Sprintf("%d cores; vectors are compared by %s", runtime.NumCPU(), kernel.Best().Name()),
		},
		examineInstallation(cache),
		examinePip(ctx),
	}
	ort, running := examineRuntime(config, cache)
	out = append(out, running...)
	wanted := wantedExperts(ctx, config)
	all := mergeNames(mergeNames(shipped.All(), wanted), readersAndRerankers(config, cache))
	for _, name := range all {
		if _, remote := config.Endpoint(name); !remote {
			out = append(out, examineBundle(config, cache, ort, name))
		}
	}
	if ort != nil {
		_ = ort.Close()
	}
	if config.Search.Rerank == "true" && len(config.Rerankers) == 0 && !slices.Contains(all, shipped.Reader) {
		out = append(out, failedFinding("rerankers", errors.New("search.rerank is true, and rerankers names none")))
	}
	found, calibrated := examineStore(ctx, config, cache)
	out = append(out, found...)
	if calibrated {
		out = append(out, examineCalibration(config))
	}
	out = append(out, examineMemory(config, cache, wanted))
	out = append(out, examineGenerators(config, cache)...)
	out = append(out, examineEndpoints(ctx, config)...)
	out = append(out, examineRemoteExperts(ctx, config)...)
	return append(out, examineFiles(config), examineDisk(cache))
}

// failedFinding returns the finding that what does not work, with the first line of err. Without it serving does not
// work.
func failedFinding(what string, err error) Finding {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return Finding{What: what, Status: StatusFails, Detail: line, Err: err}
}

// examineInstallation returns a note with the parts of the installation that are missing and will be fetched; if
// none are, how the program was installed.
func examineInstallation(cache provision.Cache) Finding {
	f := Finding{What: "installation", Status: StatusOK}
	switch cache.Installed.Kind {
	case provision.Unpacked:
		f.Detail = "an unpacked archive, whose runtime and weights are used"
	case provision.ByPip:
		f.Detail = "by pip, with the runtime and the weights of its packages"
	default:
		f.Detail = "the program alone; runtime and weights are fetched"
	}
	if lacks := cache.Lacks(); len(lacks) > 0 {
		f.Status = StatusNote
		f.Detail = strings.Join(lacks, "; ") + "; it is fetched into the cache"
	}
	return f
}

// examinePip returns whether Python with pip is there, which only fetching needs.
func examinePip(ctx context.Context) Finding {
	const what = "Python with pip"
	if err := (provision.Pip{Python: "python3"}).Check(ctx); err != nil {
		return Finding{What: what, Status: StatusNote, Detail: fmt.Sprintf("only fetching needs it: %v", err)}
	}
	return Finding{What: what, Status: StatusOK, Detail: "there, for fetching"}
}

// examineReads returns a finding for each kind of passages that the experts read only in part or hardly; none if there
// are none.
func examineReads(r store.Reads) (out []Finding) {
	for _, warning := range r.Warnings() {
		out = append(out, Finding{What: "passages", Status: StatusNote, Detail: warning})
	}
	return out
}

// examineCalibration opens the collection as a server would, and returns whether its calibration is used. Without one a
// server uses the shipped one.
func examineCalibration(config configs.Config) Finding {
	const what = "calibration"
	a, err := assembly.Open(assembly.Options{Config: config, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return failedFinding(what, err)
	}
	f := Finding{What: what, Status: StatusOK, Detail: "auto is " + a.Auto()}
	if a.Refused() != "" {
		f.Detail = a.Refused()
		f.Status = StatusNote
	}
	if err := a.Close(); err != nil {
		f = failedFinding(what, err)
	}
	return f
}

// examineMemory returns a finding on how much memory a server with these experts may take at most, compared with the
// machine's. It is a note if that is more than the machine has, or the machine's memory is not known. Experts whose
// bundle cannot be read are left out.
func examineMemory(config configs.Config, cache provision.Cache, experts []string) Finding {
	f := Finding{What: "memory", Status: StatusOK}
	machine, err := capacity.MachineMemory()
	if err != nil {
		f.Detail = err.Error()
		f.Status = StatusNote
		return f
	}
	requests, err := capacity.RequestMemory(config)
	if err != nil {
		return failedFinding(f.What, err)
	}
	var sizes []capacity.ExpertSize
	for _, name := range experts {
		dir, err := shipped.Folder(config, cache, name)
		if err != nil {
			continue // its bundle has a finding of its own
		}
		b, err := models.Peek(dir)
		if err != nil {
			continue
		}
		size := capacity.ExpertSize{Width: b.Manifest.Dimension()}
		if v := b.Manifest.Vectors; v != nil {
			size.Width = max(size.Width, v.Passage.PooledDimension)
			size.MaxTokens = v.MaxTokens.Passage
		}
		sizes = append(sizes, size)
	}
	m := capacity.MostMemory(config, requests, sizes)
	f.Detail = fmt.Sprintf(
		"%s at most, of the machine's %s, beside the collection's mapped files and the models: bodies, answers and readers of files %s (limits.memory), searches %s (limits.concurrency), writing %s, %d experts %s",
		mebibytes(m.Total()), mebibytes(machine), mebibytes(m.Requests+m.Readers), mebibytes(m.Work),
		mebibytes(m.Writing), len(sizes), mebibytes(m.Encoders),
	)
	if m.Total() > machine {
		f.Status = StatusNote
	}
	return f
}

// examineGenerators returns a finding for each configured generator: how much memory an answer takes, compared with
// what an answer may take and what the machine has. It returns nil if these two are unknown.
func examineGenerators(config configs.Config, cache provision.Cache) (out []Finding) {
	machine, err := capacity.MachineMemory()
	if err != nil {
		return nil // a finding of its own, as is the next
	}
	allowed, err := capacity.MemoryLimit(config.Limits)
	if err != nil {
		return nil
	}
	for _, name := range config.Readers {
		dir, err := shipped.Folder(config, cache, name)
		if err != nil {
			out = append(out, failedFinding("reader "+name, err))
			continue
		}
		b, err := models.Peek(dir)
		if err != nil {
			out = append(out, failedFinding("reader "+name, err))
			continue
		}
		if g := b.Manifest.Generator; g != nil {
			out = append(out, examineGenerator(name, g, allowed, machine))
		}
	}
	return out
}

// examineEndpoints returns a finding for each configured generator behind an interface: whether it has its model. If
// its key cannot be read, no server starts; if it does not answer, a server starts all the same.
func examineEndpoints(ctx context.Context, config configs.Config) (out []Finding) {
	for _, check := range experts.CheckGenerators(ctx, config) {
		f := Finding{What: "generator " + check.Name, Status: StatusOK, Detail: "its server has the model"}
		switch {
		case check.Unusable:
			f = failedFinding(f.What, check.Err)
		case check.Err != nil:
			f.Status = StatusNote
			f.Detail = check.Err.Error()
		}
		out = append(out, f)
	}
	return out
}

// examineRemoteExperts returns a finding for each configured expert and reranker behind an interface: whether it
// answers, and what is sent there. It is a note if a server starts all the same.
func examineRemoteExperts(ctx context.Context, config configs.Config) (out []Finding) {
	stored, _ := stores.Experts(ctx, config) // an error is a finding of the collection's, or the store's
	checks := experts.CheckRemote(ctx, config, stored)
	rerankers := experts.CheckRerankers(ctx, config)
	for i, check := range slices.Concat(checks, rerankers) {
		f := Finding{What: "expert " + check.Name, Status: StatusOK, Detail: check.Detail}
		if i >= len(checks) {
			f.What = "reranker " + check.Name
		}
		switch {
		case check.Unusable:
			f = failedFinding(f.What, check.Err)
		case check.Err != nil:
			f.Status = StatusNote
			f.Detail += "; " + check.Err.Error()
		}
		out = append(out, f)
	}
	return out
}

// examineGenerator returns a finding on how much memory an answer of the generator takes, usually and at most. allowed
// and machine are the bytes that limits.memory allows and the machine has. It is a note if a usual answer takes more
// than is allowed.
func examineGenerator(name string, g *models.Generator, allowed, machine int64) Finding {
	usual := g.AnswerBytes(learned.UsuallyFused*g.PassageTokens, learned.UsuallyGenerated)
	most := g.AnswerBytes(search.MostRead*g.PassageTokens, learned.UsuallyGenerated)
	f := Finding{
		What:   "generator " + name,
		Status: StatusOK,
		Detail: fmt.Sprintf(
			"an answer from %d passages of %d tokens takes %s of memory beside the model, and from %d, the most, %s; %s are allowed (limits.memory), and the machine has %s",
			learned.UsuallyFused, g.PassageTokens, mebibytes(usual), search.MostRead, mebibytes(most),
			mebibytes(allowed), mebibytes(machine),
		),
	}
	if usual > allowed {
		f.Status = StatusNote
	}
	return f
}

// mebibytes returns a number of bytes as a text in MiB.
func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// examineFiles returns a finding on how many connections a server could have, by the number of files that this process
// may open. It is a failed finding if that is too few to serve with, and a note if it leaves too few files to the
// collection or the number is not known.
func examineFiles(config configs.Config) Finding {
	f := Finding{What: "open files", Status: StatusOK}
	files, err := capacity.OpenFiles()
	if err != nil {
		f.Detail = err.Error()
		f.Status = StatusNote
		return f
	}
	most := capacity.MostConnections(files)
	set := config.Server.Connections
	switch {
	case set > most:
		f.Status = StatusNote
		f.Detail = fmt.Sprintf(
			"%d allowed; server.connections is %d, which could leave fewer than %d files to the collection: at most %d fit",
			files, set, capacity.StoreFiles, most,
		)
	case set > 0:
		f.Detail = fmt.Sprintf("%d allowed; server.connections is %d", files, set)
	case most < capacity.LeastConnections:
		return failedFinding(f.What, fmt.Errorf("%d allowed, which is too few to serve with", files))
	default:
		f.Detail = fmt.Sprintf(
			"%d allowed; a server takes %d connections, others wait, and the rest is the collection's", files, most,
		)
		if files < 2*capacity.StoreFiles {
			f.Status = StatusNote
		}
	}
	return f
}

// examineDisk returns a finding with the free space of the disk that has the cache. It is a note if less than 1 GiB is
// free or the folder is not there.
func examineDisk(cache provision.Cache) Finding {
	free, known := disk.OS{}.Free(cache.Root)
	f := Finding{
		What:   "disk",
		Status: StatusOK,
		Detail: fmt.Sprintf("%s free where the cache is (%s)", mebibytes(free), cache.Root),
	}
	if !known {
		f.Status = StatusNote
		f.Detail = fmt.Sprintf("the cache folder %s is not there", cache.Root)
	} else if free < 1<<30 {
		f.Status = StatusNote
		f.Detail += ": fetching needs about 0.5 GiB, and a collection about 2 KB a passage and expert"
	}
	return f
}

// wantedExperts returns the names of the bundles of the configured experts and then of those of the collection,
// each once. A collection that cannot be read has none.
func wantedExperts(ctx context.Context, config configs.Config) (names []string) {
	for _, x := range config.Experts {
		names = append(names, x.Name)
	}
	stored, _ := stores.Experts(ctx, config) // an error is a finding of the collection's, or the store's
	for _, x := range stored {
		bundle, _, err := experts.SplitName(x.Name)
		if err != nil {
			bundle = x.Name // which has a finding of its own
		}
		if !slices.Contains(names, bundle) {
			names = append(names, bundle)
		}
	}
	return names
}

// mergeNames returns the names of both lists, each once: those of a, then those that only b has. It may change a.
func mergeNames(a, b []string) []string {
	for _, name := range b {
		if !slices.Contains(a, name) {
			a = append(a, name)
		}
	}
	return a
}
