package main

import (
	"example.org/conclave/cmd/internal/cli"

	"github.com/spf13/cobra"
)

// newCalibrate returns the command `conclave-lab calibrate`. Its subcommands fit the confidence and the verdict that
// conclave ships for collections without a calibration of their own.
func newCalibrate(term cli.Terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "calibrate",
		Short: "Fit the confidence and the verdict that are shipped with conclave",
		Long: `Fits the files of shipped/ that serve collections without a calibration of their own. Collections are calibrated
by conclave calibrate.`,
		Args: cobra.NoArgs,
	}
	command.AddCommand(newFitPrior(term), newFitVerdict(term))
	return command
}
