package main

import (
	"context"
	"errors"

	"conclave/configs"
	"conclave/serving"

	"github.com/spf13/pflag"
)

// checkStore refuses what is done to a collection in a folder and not to a store, or the
// other way round.
func (x *indexing) checkStore(flags *pflag.FlagSet, store string) error {
	if store == "" {
		for _, name := range []string{"settle", "cluster-shards", "cluster-replicas"} {
			if flags.Changed(name) {
				return usagef("--%s is for an index of OpenSearch: name it with --store", name)
			}
		}
		return nil
	}
	for _, name := range []string{"collection", "rebuild-words", "granularity", "index", "m", "ef-construction", "seed", "threads"} {
		if flags.Changed(name) {
			return usagef("--%s is for a collection in a folder, and --store names an index of OpenSearch", name)
		}
	}
	return nil
}

// runStore is run for a store.
func (x *indexing) runStore(ctx context.Context, config configs.Config, term terminal, bar *progress) error {
	switch {
	case x.removeExpert != "":
		if err := serving.RemoveStored(ctx, config, x.removeExpert); err != nil {
			return err
		}
		return show(term.Out, x.asJSON, map[string]string{"removed": x.removeExpert}, func(w *errWriter) {
			w.printf("%s: expert %s removed\n", config.Store, x.removeExpert)
		})
	case x.settle:
		before, after, err := serving.Settle(ctx, config)
		if err != nil {
			return err
		}
		return show(term.Out, x.asJSON, map[string]any{"before": before, "after": after}, func(w *errWriter) {
			w.printf("%s: %s; %d deleted ones still counted, and %d do now\n", config.Store, plural(after.Passages, "passage"), before.Deleted, after.Deleted)
		})
	}
	report, err := x.build(ctx, config, term, bar)
	bar.Finish()
	if err != nil {
		return err
	}
	return show(term.Out, x.asJSON, report, func(w *errWriter) { printStored(w, report, config.Store) })
}

func printStored(w *errWriter, r serving.Indexed, store string) {
	w.printf("%s: %s written", store, plural(int64(r.Passages), "passage"))
	if r.Replaced > 0 {
		w.printf(", of which %d in place of others", r.Replaced)
	}
	if r.There > 0 {
		w.printf(", %d were there", r.There)
	}
	if r.Skipped > 0 {
		w.printf(", %d left out", r.Skipped)
	}
	w.printf("\n")
	printTruncated(w, r)
}

// errNoStore is the error of a command that needs a store.
var errNoStore = errors.New("it names no index of OpenSearch, such as opensearch+https://HOST:9200/INDEX")
