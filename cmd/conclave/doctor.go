package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/doctor"
	"example.org/conclave/shipped/demo"

	"github.com/spf13/cobra"
)

// finding is one checked part of the machine, the configuration or the collection, as `conclave doctor` prints it.
type finding struct {
	What   string        `json:"what"`
	Status doctor.Status `json:"status"`
	Detail string        `json:"detail"`
	Mend   string        `json:"mend,omitempty"`
}

// newDoctor returns the command `conclave doctor`, which checks this machine, the configuration and the collection, and
// prints what repairs each fault. The command fails if a check does.
func newDoctor(term cli.Terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine, and print what repairs each fault",
		Example: `  conclave doctor
  conclave doctor --collection my-index --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, cache, err := cli.ReadSettingsAndCache(cmd, term)
			if err != nil {
				return err
			}
			if _, err := os.Stat(config.Collection); err != nil {
				config.Collection = cmp.Or(demo.Found(cache), config.Collection)
			}
			findings := []finding{
				{
					What:   "conclave",
					Status: doctor.StatusOK,
					Detail: fmt.Sprintf("%s, %s, %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
				},
			}
			var failed error
			for _, f := range doctor.Examine(cmd.Context(), config, cache) {
				findings = append(findings, finding{f.What, f.Status, f.Detail, remedyFor(f, config)})
				if f.Status == doctor.StatusFails {
					failed = cli.ErrSilent
				}
			}
			return errors.Join(
				failed, cli.Show(term.Out, asJSON, findings, func(w *cli.ErrWriter) { printFindings(w, findings) }),
			)
		},
	}
	configs.AddFlags(command.Flags(), "collection", "store", "bundles", "encoder.provider")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// remedyFor returns what to do about a finding: the hints of its error, or else what usually repairs that part. It is
// "" if there is nothing to do or no advice.
func remedyFor(f doctor.Finding, config configs.Config) string {
	if hints := cli.Hints(f.Err); len(hints) > 0 {
		return strings.Join(hints, "; ")
	}
	if f.Status == doctor.StatusOK {
		return ""
	}
	switch f.What {
	case "CUDA":
		if f.Status == doctor.StatusFails {
			return "conclave setup --provider cuda, and NVIDIA's driver 580 or newer; or encoder.provider: cpu"
		}
	case "collection":
		return fmt.Sprintf(
			"put a snapshot in its place, or conclave index --collection NEW --in FILE; conclave verify --collection %s says what is damaged",
			config.Collection,
		)
	case "calibration":
		if config.Store != "" {
			return "conclave calibrate --store " + config.Store + " --questions FILE"
		}
		return "conclave calibrate --collection " + config.Collection + " --questions FILE"
	case "rerankers":
		return "conclave models import CHECKPOINT --name NAME, and rerankers: [NAME] in conclave.yaml; or search.rerank: false"
	case "memory":
		return "lower limits.memory, limits.concurrency, ingest.backlog or encoder.batch_tokens"
	case "open files":
		return "ulimit -n 1024, or more"
	}
	if strings.HasPrefix(f.What, "generator ") {
		return "raise limits.memory, or ask with fewer passages (answer.passages)"
	}
	return ""
}

// printFindings writes a line for each finding, and below it what repairs it, if that is known. Errors of writing are
// in w.Err.
func printFindings(w *cli.ErrWriter, findings []finding) {
	for _, f := range findings {
		w.Printf("%-6s %-22s %s\n", f.Status, f.What, f.Detail)
		if f.Mend != "" {
			w.Printf("%-6s %-22s -> %s\n", "", "", f.Mend)
		}
	}
}
