package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"conclave/collection"
	"conclave/configs"
	"conclave/encoder"
	shipped "conclave/experts"
	"conclave/models"
	"conclave/provision"
	"conclave/serving"

	"github.com/spf13/cobra"
	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// finding is one line of the doctor's.
type finding struct {
	What   string `json:"what"`
	Status string `json:"status"` // "ok", "note" or "fails"
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"`
}

func newDoctor(term terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Say what works on this machine, what does not, and what mends it",
		Example: `  conclave doctor
  conclave doctor --collection my-index --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, cache, err := settingsAndCache(cmd, term)
			if err != nil {
				return err
			}
			findings := examine(cmd.Context(), config, cache)
			if err := printFindings(term, findings, asJSON); err != nil {
				return err
			}
			for _, f := range findings {
				if f.Status == "fails" {
					return errSilent
				}
			}
			return nil
		},
	}
	addConfigFlags(command.Flags(), "collection", "bundles", "encoder.provider")
	command.Flags().BoolVar(&asJSON, "json", false, "for programs")
	return command
}

func printFindings(term terminal, findings []finding, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(term.Out).Encode(findings)
	}
	w := &errWriter{out: term.Out}
	for _, f := range findings {
		w.printf("%-6s %-22s %s\n", f.Status, f.What, f.Detail)
		if f.Mend != "" {
			w.printf("%-6s %-22s -> %s\n", "", "", f.Mend)
		}
	}
	return w.err
}

// examine looks at one thing after the other; what fails does not stop it.
func examine(ctx context.Context, config configs.Config, cache provision.Cache) []finding {
	out := []finding{
		{What: "conclave", Status: "ok", Detail: fmt.Sprintf("%s, %s, %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)},
		{What: "processor", Status: "ok", Detail: fmt.Sprintf("%d cores; %s", runtime.NumCPU(), cpuFeatures())},
		examinePip(ctx),
	}
	ort, fs := examineRuntime(config, cache)
	out = append(out, fs...)
	out = append(out, examineBundles(config, cache, ort)...)
	if ort != nil {
		_ = ort.Close()
	}
	out = append(out, examineCollection(config, cache))
	out = append(out, examineCalibration(config)...)
	return append(out, examineMemory(config, cache), examineFiles(config), examineDisk(cache))
}

func cpuFeatures() string {
	var has []string
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"AVX2", cpu.X86.HasAVX2}, {"FMA", cpu.X86.HasFMA}, {"AVX-512", cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW},
		{"VNNI", cpu.X86.HasAVX512VNNI}, {"NEON", cpu.ARM64.HasASIMD},
	} {
		if f.has {
			has = append(has, f.name)
		}
	}
	if len(has) == 0 {
		return "no vector instructions that are used here: search runs in plain Go"
	}
	return strings.Join(has, ", ")
}

func examinePip(ctx context.Context) finding {
	if err := (provision.Pip{Python: "python3"}).Check(ctx); err != nil {
		return finding{What: "Python with pip", Status: "note", Detail: "not there; only `conclave setup` needs it", Mend: err.Error()}
	}
	return finding{What: "Python with pip", Status: "ok", Detail: "there, for `conclave setup`"}
}

func examineRuntime(config configs.Config, cache provision.Cache) (*encoder.Runtime, []finding) {
	const wrapper = "github.com/yalue/onnxruntime_go, API 24"
	library, err := serving.RuntimeLibrary(config, cache)
	if err != nil {
		return nil, []finding{{What: "ONNX Runtime", Status: "fails", Detail: err.Error(), Mend: mendRuntime(config)}}
	}
	ort, err := encoder.OpenRuntime(library)
	if err != nil {
		return nil, []finding{{What: "ONNX Runtime", Status: "fails", Detail: err.Error(), Mend: mendRuntime(config)}}
	}
	out := []finding{{What: "ONNX Runtime", Status: "ok", Detail: fmt.Sprintf("%s (%s), %s", ort.Version(), wrapper, library)}}
	cuda := finding{What: "CUDA", Status: "ok", Detail: "works"}
	if err := ort.CUDA(); err != nil {
		cuda = finding{What: "CUDA", Status: "note", Detail: "not here: " + firstLine(err)}
		if serving.Strongest(config) == encoder.CUDA {
			cuda.Status, cuda.Mend = "fails", "conclave setup --provider cuda, with CUDA 13 and cuDNN 9 installed; or provider: cpu"
		}
	}
	return ort, append(out, cuda)
}

func examineBundles(config configs.Config, cache provision.Cache, ort *encoder.Runtime) []finding {
	var out []finding
	names := append([]string{shipped.Base}, shipped.Names()...)
	for _, name := range wantedExpertNames(config) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		out = append(out, examineBundle(config, cache, ort, name))
	}
	return out
}

func examineBundle(config configs.Config, cache provision.Cache, ort *encoder.Runtime, name string) finding {
	f := finding{What: "bundle " + name, Status: "fails"}
	folder, err := shipped.Folder(config, cache, name)
	if err != nil {
		f.Detail, f.Mend = firstLine(err), mendBundle(config, cache, name, "")
		return f
	}
	bundle, err := models.Load(folder)
	if err != nil {
		f.Detail, f.Mend = err.Error(), mendBundle(config, cache, name, folder)
		return f
	}
	f.Detail = fmt.Sprintf("%d files, %s, fingerprint %.12s", len(bundle.Manifest.Files), bundle.Manifest.Precision, bundle.Fingerprint(models.Passage))
	if ort == nil {
		f.Status = "note"
		f.Detail += "; not tried, since there is no runtime"
		return f
	}
	e, err := ort.Open(bundle, encoder.Options{Provider: config.Encoder.Provider})
	if err != nil {
		f.Detail, f.Mend = err.Error(), mendBundle(config, cache, name, folder)
		return f
	}
	defer func() { _ = e.Close() }()
	if err := e.SelfTest(); err != nil {
		f.Detail, f.Mend = "tokenizer: "+err.Error(), "this is a mistake in conclave: please report it"
		return f
	}
	f.Status = "ok"
	f.Detail += fmt.Sprintf("; tokenizer as the reference; runs on %s", e.Provider())
	return f
}

func examineCollection(config configs.Config, cache provision.Cache) finding {
	folder := config.Collection
	if _, err := os.Stat(folder); err != nil {
		if at, err := demoFolder(cache, []string{shipped.Late}); err == nil {
			folder = at
		}
	}
	f := finding{What: "collection", Status: "note"}
	if _, err := os.Stat(folder); err != nil {
		f.Detail, f.Mend = config.Collection+" is not there", "conclave index --collection "+config.Collection+" --in FILE, or conclave demo"
		return f
	}
	c, err := collection.Open(folder)
	if errors.Is(err, collection.ErrUnfinished) {
		f.Detail, f.Mend = err.Error(), "conclave index --collection "+folder+" --in FILE"
		return f
	}
	if err != nil {
		f.Status, f.Detail, f.Mend = "fails", err.Error(), mendCollection(folder, err)
		return f
	}
	defer func() { _ = c.Close() }()
	g := c.Acquire()
	defer g.Release()
	f.Status = "ok"
	f.Detail = fmt.Sprintf("%s: generation %d, %d passages (conclave verify reads all of it)", folder, g.Number(), g.Len())
	for _, x := range g.Experts() {
		f.Detail += fmt.Sprintf("; %s: %s, fingerprint %.12s, recall@10 %.3f", x.Name, x.Index.Kind, x.Fingerprint, x.Recall.Stored.At10)
		if path, err := shipped.Folder(config, cache, x.Name); err == nil {
			if b, err := models.Peek(path); err == nil && b.Fingerprint(models.Passage) != x.Fingerprint {
				f.Status = "fails"
				f.Mend = fmt.Sprintf("the bundle of %s is another one (%.12s): conclave index --collection %s --remove-expert %[1]s, then --add-expert %[1]s", x.Name, b.Fingerprint(models.Passage), folder)
			}
		}
	}
	if err := g.CheckRecall(serving.Floors(config.Index)); err != nil {
		f.Status, f.Mend = "fails", fmt.Sprintf("%v: %s", err, strings.Join(hintsOf(err), "; "))
	}
	return f
}

func examineDisk(cache provision.Cache) finding {
	f := finding{What: "disk", Status: "ok"}
	var stat unix.Statfs_t
	if err := unix.Statfs(cache.Root, &stat); err != nil {
		f.Status, f.Detail, f.Mend = "note", fmt.Sprintf("cache folder %s: %v", cache.Root, err), "conclave setup makes it"
		return f
	}
	free := int64(stat.Bavail) * int64(stat.Bsize)
	f.Detail = fmt.Sprintf("%s free where the cache is (%s)", count(free, "bytes"), cache.Root)
	if free < 1<<30 {
		f.Status, f.Mend = "note", "setup needs about 0.5 GiB, and a collection about 2 KB a passage and expert"
	}
	return f
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
