package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"conclave/models"

	"github.com/spf13/cobra"
)

func newModelsImport(term terminal) *cobra.Command {
	var out string
	var o models.ImportOptions
	var normalise string
	command := &cobra.Command{
		Use:   "import CHECKPOINT",
		Short: "Turn a Hugging Face BERT or DPR checkpoint, or an exported ONNX, into a bundle",
		Long: `Reads config.json, model.safetensors and tokenizer.json or vocab.txt and writes
ONNX graphs with pooling and normalisation in them, without Python. BERT's and
DPR's tensor names are known. A folder with model.onnx instead of weights is
taken as it is, once its inputs and outputs have been checked.

The same input gives the same bytes.`,
		Example: `  conclave models import ./all-MiniLM-L6-v2 --out experts/general --int8
  conclave models import ./dpr-question --passage ./dpr-context --out experts/nq`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch normalise {
			case "":
			case "true", "false":
				value := normalise == "true"
				o.Normalise = &value
			default:
				return usagef("--normalise is %q: true and false are possible", normalise)
			}
			if _, err := filepath.Abs(out); out == "" || err != nil {
				return usagef("--out is needed: the folder of the bundle to make")
			}
			bar := newProgress(term.Err)
			o.Progress = func(done, total int64) { bar.Report("importing "+args[0], done, total, "bytes") }
			b, err := models.Import(cmd.Context(), args[0], out, o)
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("%w: a checkpoint is a folder with config.json, model.safetensors and tokenizer.json or vocab.txt", err)
				}
				return err
			}
			bar.Finish()
			m := b.Manifest
			_, err = fmt.Fprintf(term.Out, "%s: %s, %d dimensions, pooling %s, %s, fingerprint %.12s\n",
				b.Dir, m.Name, m.Dimension, m.Pooling, m.Precision, b.Fingerprint(models.Passage))
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&out, "out", "", "`folder` of the bundle to make (required)")
	flags.StringVar(&o.Name, "name", "", "`name` of the expert (default: of the folder)")
	flags.StringVar(&o.PassageDir, "passage", "", "`folder` of the passage encoder, where it has one of its own")
	flags.BoolVar(&o.Int8, "int8", false, "8-bit weights: a quarter of the size, faster")
	flags.StringVar(&o.Pooling, "pooling", "", "cls, mean or pooler (default: what the checkpoint says, else cls)")
	flags.StringVar(&normalise, "normalise", "", "true or false: unit length (default: what the checkpoint says)")
	flags.StringVar(&o.Template, "template", "", "text, title-dot-text or pair (default: pair for DPR, else title-dot-text)")
	flags.IntVar(&o.MaxTokens.Question, "max-question-tokens", 0, "longest question, special tokens included (default 64; DPR 256)")
	flags.IntVar(&o.MaxTokens.Passage, "max-passage-tokens", 0, "longest passage, special tokens included (default 256)")
	flags.StringVar(&o.Licence, "licence", "", "`licence` of the weights, for the card")
	return command
}
