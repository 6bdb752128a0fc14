package main

import (
	"runtime"
	"runtime/debug"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/doctor"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/opensearch/schema"

	"github.com/spf13/cobra"
)

// about holds what version prints.
type about struct {
	Version   string           `json:"version"`
	Commit    string           `json:"commit"`   // "" where the source was not in git
	Modified  bool             `json:"modified"` // the source had changes that are not in the commit
	Go        string           `json:"go"`
	Platform  string           `json:"platform"`
	Processor []string         `json:"processor"`   // what vectors are compared by, the best first
	Runtime   string           `json:"onnxruntime"` // the release that this program is for
	Library   string           `json:"library"`     // the runtime that is used; "" where there is none
	Formats   map[string][]int `json:"formats"`     // that are read, of what is on disk
}

// describeProgram returns the program's version, commit, platform and the formats that it reads. The library of ONNX
// Runtime is left out, since that depends on the configuration.
func describeProgram() about {
	a := about{
		Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Processor: doctor.Kernels(), Runtime: provision.RuntimeVersion, Formats: diskFormats(),
	}
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return a
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			a.Commit = setting.Value
		case "vcs.modified":
			a.Modified = setting.Value == "true"
		}
	}
	return a
}

// diskFormats returns the format versions that this program reads, by the kind of file: collection, index, bundle,
// calibration, job.
func diskFormats() map[string][]int {
	return map[string][]int{
		"collection":  folder.ManifestFormats(),
		"index":       {schema.Format},
		"bundle":      {models.Format},
		"calibration": {calibration.RecordFormat},
		"job":         {jobs.RecordFormat},
	}
}

// newVersion returns the command `conclave version`, which prints the version and what it was built of.
func newVersion(term cli.Terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it was built of",
		Example: "  conclave version --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a := describeProgram()
			// A configuration that cannot be read says nothing of the version.
			if config, cache, err := cli.ReadSettingsAndCache(cmd, term); err == nil {
				a.Library, _ = experts.RuntimeLibrary(config, cache)
			}
			return cli.Show(term.Out, asJSON, a, func(w *cli.ErrWriter) {
				w.Printf("conclave %s (%s, %s, for ONNX Runtime %s)\n", a.Version, a.Go, a.Platform, a.Runtime)
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the commit, the processor and the formats that are read")
	return command
}
