package main

import (
	"cmp"
	"fmt"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/sites"
	"example.org/conclave/shipped"
	"example.org/conclave/store"

	"github.com/spf13/pflag"
)

// maxBuildThreads bounds --threads; nobody has so many cores.
const maxBuildThreads = 1024

// checkFlags returns a usage error if the flags ask for something impossible, before anything is read. A flag without
// effect is an error too, since its user believes that it counts. defaults are the configured settings, for what no
// flag names. It also sets x.part from --share, x.analysis to the default if no flag names it, and x.phrasesAsked and
// x.analysisAsked.
func (x *indexCommand) checkFlags(flags *pflag.FlagSet, defaults configs.Index) error {
	if err := x.inputs.Check(); err != nil {
		return err
	}
	if err := x.checkAction(flags); err != nil {
		return err
	}
	if err := x.site.check(x.inputPaths()); err != nil {
		return err
	}
	if _, err := corpus.ParseFormat(x.format); err != nil {
		return cli.UsageError{Err: err}
	}
	if x.threads < 0 || x.threads > maxBuildThreads {
		return cli.Usagef("--threads is %d; 0 (all processors) to %d is possible", x.threads, maxBuildThreads)
	}
	if x.share != "" {
		if len(x.inputs.Files) == 0 {
			return cli.Usagef("--share divides the inputs: name them with --in, the same ones for every share")
		}
		part, err := store.ParseShare(x.share)
		if err != nil {
			return cli.Usagef("--share: %w", err)
		}
		x.part = part
	}
	if _, err := conditions.ParseTypes(x.fields); err != nil {
		return cli.Usagef("--%v", err)
	}
	if len(x.fields) > 0 && x.share != "" {
		return cli.Usagef("--fields cannot be used with --share: declare the types in the settings when all shares are indexed (PUT /v1/admin/settings)")
	}
	if err := indexing.CheckLanguage(x.language); err != nil {
		return cli.Usagef("--language: %w", err)
	}
	x.phrasesAsked, x.analysisAsked = flags.Changed("phrases"), flags.Changed("analysis")
	x.analysis = cmp.Or(x.analysis, defaults.Analysis)
	if _, err := store.NewWords(x.phrases, x.analysis); err != nil {
		return cli.Usagef("--analysis: %v", err)
	}
	index := x.index
	index.Kind = cmp.Or(index.Kind, defaults.Kind)
	if err := index.Check(); err != nil {
		return cli.UsageError{Err: fmt.Errorf("--index %s: %w", index.Kind, err)}
	}
	return nil
}

// inputPaths returns the paths and addresses of --in.
func (x *indexCommand) inputPaths() (paths []string) {
	for _, in := range x.inputs.Files {
		paths = append(paths, in.Path)
	}
	return paths
}

// checkAction returns a usage error unless the flags name exactly one action, such as --in or --settle, and no flag
// without effect on it.
func (x *indexCommand) checkAction(flags *pflag.FlagSet) error {
	var asked []string
	for _, action := range []struct {
		flag  string
		given bool
	}{{"in", len(x.inputs.Files) > 0}, {"add-expert", x.addExpert != ""}, {"granularity", len(x.granularity) > 0 && len(x.inputs.Files) == 0}, {"remove-expert", x.removeExpert != ""}, {"rebuild-words", x.rebuildWords}, {"settle", x.settle}} {
		if action.given {
			asked = append(asked, action.flag)
		}
	}
	switch len(asked) {
	case 0:
		return cli.Usagef(
			"nothing to do: name --in FILE, --add-expert NAME, --granularity N, --remove-expert NAME, --rebuild-words or --settle",
		)
	case 1:
	default:
		return cli.Usagef("--%s exclude each other: run conclave index once for each", strings.Join(asked, " and --"))
	}
	if len(x.granularity) == 0 {
		names := []string{"questions", "qrels", "split", "question-format"}
		err := refuseFlags(flags, names, "has no effect without --granularity: name the granularities to choose from")
		if err != nil {
			return err
		}
	}
	reading := []string{"format", "id-column", "text-column", "title-column", "experts", "replace", "skip-bad", "strict", "fields", "language"}
	if !x.follow && (x.deleteAll || x.movedFrom != "") {
		return cli.Usagef("--delete-all and --moved-from are for --sync")
	}
	if x.movedFrom != "" && (len(x.inputs.Files) != 1 || sites.IsAddress(x.inputs.Files[0].Path)) {
		return cli.Usagef("--moved-from is the earlier path of one folder: name that folder alone with --in")
	}
	if x.follow && len(x.inputs.Files) == 0 {
		return cli.Usagef("--sync needs files or folders to compare the collection with: name them with --in")
	}
	building := []string{"index", "m", "ef-construction", "seed"}
	var idle []string
	why := "--" + asked[0]
	switch {
	case x.removeExpert != "", x.settle:
		idle = append(append(reading, building...), "threads", "phrases", "analysis")
	case x.rebuildWords:
		idle = append(append(reading, building...), "threads")
	case x.addExpert != "", asked[0] == "granularity":
		idle = append(reading, "phrases", "analysis")
	case x.experts == shipped.ChooseNone:
		idle, why = building, "--experts none"
	}
	return refuseFlags(flags, idle, "has no effect with "+why+": leave it out")
}

// checkStore returns a usage error for flags that only a collection in a folder has, if stored is the address of a
// store, and for flags that only a store has, if it is "".
func checkStore(flags *pflag.FlagSet, stored string) error {
	if stored == "" {
		return refuseFlags(
			flags, []string{"settle", "share", "cluster-shards", "cluster-replicas"},
			"is for an index of OpenSearch: name it with --store",
		)
	}
	if strings.HasSuffix(stored, configs.AnyIndex) {
		if name := flags.Lookup("collection"); !name.Changed || strings.ContainsAny(name.Value.String(), `/\`) {
			return cli.Usagef("--store names the indexes of several collections: give the name of one with --collection")
		}
	} else if err := refuseFlags(flags, []string{"collection"},
		"is for a collection in a folder, and --store names an index of OpenSearch"); err != nil {
		return err
	}
	return refuseFlags(
		flags, []string{"rebuild-words", "granularity", "index", "m", "ef-construction", "seed", "threads"},
		"is for a collection in a folder, and --store names an index of OpenSearch",
	)
}

// refuseFlags returns a usage error if one of the named flags was set. why completes the sentence "--NAME …".
func refuseFlags(flags *pflag.FlagSet, names []string, why string) error {
	for _, name := range names {
		if flags.Changed(name) {
			return cli.Usagef("--%s %s", name, why)
		}
	}
	return nil
}

// checkFits returns a usage error if a flag asks for another vector index than the experts of the collection in dir
// have: all segments of an expert share one kind and its parameters. has are the collection's experts; nil: there is no
// collection yet. With --add-expert or --granularity it returns nil.
func (x *indexCommand) checkFits(dir string, has []store.Expert) error {
	if x.addExpert != "" || len(x.granularity) > 0 {
		return nil
	}
	if has != nil && len(has) == 0 && x.index != (store.Index{}) {
		return cli.Usagef(
			"%s has no experts, so there are no vectors to index in any way: leave out --index, --m, --ef-construction and --seed, or add an expert with --add-expert",
			dir,
		)
	}
	for _, e := range has {
		if property, asked, stored := x.index.Unlike(e.Index); property != "" {
			flag := map[string]string{"kind": "index", "m": "m", "ef_construction": "ef-construction", "seed": "seed"}[property]
			return cli.Usagef(
				"--%[1]s is %[2]v, but the vectors of %[4]s in %[3]s are indexed with --%[1]s %[5]v, and stay so: leave it out to add passages. "+
					"To index them anew: conclave index --collection %[3]s --remove-expert %[4]s, then --add-expert %[4]s --%[1]s %[2]v",
				flag,
				asked,
				dir,
				e.Name,
				stored,
			)
		}
	}
	return nil
}
