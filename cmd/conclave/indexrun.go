package main

import (
	"context"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/stores"
)

// run does the one action that the flags ask for, and prints the result as text or JSON: it removes an expert
// (--remove-expert), purges the deleted passages of a store (--settle), makes an existing collection match files
// (--sync), or builds (buildCollection). After a build of a folder it also prints what would improve the answers
// (printNext). It fails with a usage error for flags that contradict the collection.
func (x *indexCommand) run(ctx context.Context, config configs.Config, term cli.Terminal) error {
	bar := cli.NewProgress(term.Err)
	defer bar.Finish()
	switch {
	case x.removeExpert != "":
		if err := removeExpert(ctx, config, x.removeExpert); err != nil {
			return err
		}
		return cli.Show(term.Out, x.asJSON, map[string]string{"removed": x.removeExpert}, func(w *cli.ErrWriter) {
			w.Printf("%s: expert %s removed\n", config.Passages(), x.removeExpert)
		})
	case x.settle:
		before, after, err := stores.Settle(ctx, config)
		if err != nil {
			return err
		}
		return cli.Show(
			term.Out,
			x.asJSON,
			map[string]any{"before": before, "after": after},
			func(w *cli.ErrWriter) {
				w.Printf(
					"%s: %s; %d deleted ones counted in scores before, and %d do now\n", config.Store,
					cli.Plural(after.Passages, "passage"), before.Deleted, after.Deleted,
				)
			},
		)
	}
	if x.follow {
		if err := x.checkSync(); err != nil {
			return err
		}
		if x.server.url != "" {
			return x.syncCollection(ctx, config, term, bar)
		}
		has, err := stores.Experts(ctx, config)
		if err != nil {
			return err
		}
		if has != nil && len(x.fields) > 0 {
			return cli.Usagef(
				"--fields cannot change the types of a collection that exists: declare them in its settings (PUT /v1/admin/settings, or collection.yaml)",
			)
		}
		if has != nil {
			return x.syncCollection(ctx, config, term, bar)
		}
	}
	report, err := x.buildCollection(ctx, config, term, bar)
	bar.Finish()
	if err != nil {
		return err
	}
	shown := struct {
		indexing.IndexReport
		Sites []siteReport `json:"sites,omitempty"`
	}{report, x.siteReports}
	if err := cli.Show(term.Out, x.asJSON, shown, func(w *cli.ErrWriter) {
		printIndexed(w, report,
			config.Passages())
	}); err != nil ||
		x.asJSON ||
		config.Store != "" {
		return err
	}
	return printNext(config, term.Out)
}

// removeExpert removes an expert's vectors from the configured collection or store. It fails if the collection has no
// such expert or another process writes to it; nothing is changed then.
func removeExpert(ctx context.Context, config configs.Config, name string) error {
	at, err := stores.At(config)
	if err != nil {
		return err
	}
	return at.RemoveExpert(ctx, name)
}
