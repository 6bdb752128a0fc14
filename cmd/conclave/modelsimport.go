package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/shipped"

	"github.com/spf13/cobra"
)

// importCommand is what `conclave models import` was asked to do.
type importCommand struct {
	out       string
	unchecked bool
	options   convert.Options
}

// newModelsImport returns the command `conclave models import`, which turns a checkpoint, an ONNX file or a delta into
// a bundle.
func newModelsImport(term cli.Terminal) *cobra.Command {
	var x importCommand
	command := &cobra.Command{
		Use:   "import FOLDER",
		Short: "Turn a Hugging Face checkpoint, an exported ONNX, or a delta into a bundle",
		Long: `Reads config.json, model.safetensors and tokenizer.json (or vocab.txt of a BERT), and writes
ONNX graphs that include pooling and normalisation. It needs no Python. Encoders of
the kinds BERT, DistilBERT, MPNet, RoBERTa, XLM-RoBERTa and DPR are known. A folder with model.onnx instead of weights is
used as it is, after its inputs and outputs are checked. How token vectors become
one, and what comes before questions and passages, is taken from the files of
sentence-transformers beside the weights; where these do not say the pooling, you do.

At the end the expert has to tell paraphrases from unrelated texts, some of which
come with the program; the error says which setting is probably wrong.

A folder with expert.yaml and delta.safetensors, as conclave-train writes it, is
merged with its base: the checkpoint that 'conclave setup' fetched, or --base.

The bundle goes to --out, or with --name alone into the cache, where indexing and
serving find it by name; a delta has a name of its own.

A masked language model (BertForMaskedLM or DistilBertForMaskedLM) becomes a sparse expert, as SPLADE
uses it: the largest of log(1 + relu) over the tokens.

A cross-encoder (a model for sequence classification with one label, as the
ms-marco ones) becomes a reranker, which 'rerankers' in the configuration names.

A T5 becomes a generator, which writes answers from passages (Fusion-in-Decoder). The
names of transformers and of Fusion-in-Decoder's code are known. It needs the
tokenizer.json of the T5 that it was trained from.

The same input gives the same bytes.`,
		Example: `  conclave models import ./all-MiniLM-L6-v2 --out experts/general --int8
  conclave models import ./bge-small-en --pooling cls --out experts/bge \
      --question-prefix "Represent this sentence for searching relevant passages: "
  conclave models import ./e5-small --question-prefix "query: " --passage-prefix "passage: " --out experts/e5
  conclave models import ./ms-marco-MiniLM-L6-v2 --name marco --int8
  conclave models import ./dpr-question --passage ./dpr-context --out shipped/nq
  conclave models import experts/mydomain --int8`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, cache, err := cli.ReadSettingsAndCache(cmd, term)
			if err != nil {
				return err
			}
			return x.run(cmd.Context(), args[0], config, cache, term)
		},
	}
	o := &x.options
	flags := command.Flags()
	flags.StringVar(&x.out, "out", "", "`folder` of the bundle to make (default: the cache, under the name)")
	flags.StringVar(&o.Name, "name", "", "`name` of the expert (default: that of the folder or of the delta)")
	flags.StringVar(&o.PassageDir, "passage", "", "`folder` of the passage encoder, if it is a separate one")
	flags.StringVar(&o.Base, "base", "", "`folder` of a delta's base checkpoint (default: the one that setup fetched)")
	flags.BoolVar(&o.Int8, "int8", false, "8-bit weights: a quarter of the size, and faster")
	flags.StringVar(&o.Pooling, "pooling", "", "cls, mean or pooler (default: that of the checkpoint; DPR cls)")
	prefix := func(name, side string, to **string) {
		flags.Func(
			name,
			"`text` before every "+side+", with the space behind it (default: the prompt of the checkpoint)",
			func(text string) error {
				*to = &text
				return nil
			},
		)
	}
	prefix("question-prefix", "question", &o.QuestionPrefix)
	prefix("passage-prefix", "passage", &o.PassagePrefix)
	flags.BoolVar(&x.unchecked, "unchecked", false, "take an expert that does not tell paraphrases from unrelated texts")
	flags.Func(
		"normalise",
		"`true|false`: whether vectors are scaled to unit length (default: as the checkpoint does, else true)",
		func(text string) error {
			value := text == "true"
			o.Normalise = &value
			if !value && text != "false" {
				return errors.New("it has to be true or false")
			}
			return nil
		},
	)
	flags.StringVar(
		&o.Template, "template", "", "text, title-dot-text or pair (default: pair for DPR, else title-dot-text)",
	)
	flags.IntVar(
		&o.MaxTokens.Question, "max-question-tokens", 0,
		"longest question, special tokens included (default 64; DPR 256)",
	)
	flags.IntVar(
		&o.MaxTokens.Passage, "max-passage-tokens", 0,
		"longest passage, special tokens included (default 256; T5 250, with the question)",
	)
	flags.IntVar(
		&o.Beams, "beams", 0, "beams with which a T5 searches for an answer (default 1: greedy, which can be streamed)",
	)
	flags.StringVar(
		&o.QuestionWeights,
		"question-weights",
		"",
		"JSON `file` from word piece to weight: a sparse encoder's questions then take no run of the model",
	)
	flags.StringSliceVar(&o.Languages, "languages", nil,
		"`CODE,...` of the languages that it reads, such as en,de, or many (default: not known; it is asked in any)")
	flags.StringVar(&o.Output, "output", "", "`name` of the output that has the vectors, if an exported ONNX has several")
	flags.StringVar(&o.Licence, "licence", "", "`licence` of the weights, for the card")
	return command
}

// run makes a bundle of the checkpoint in the folder from, checks it unless --unchecked is set, and prints its summary.
// A failed import leaves nothing behind.
func (x *importCommand) run(
	ctx context.Context,
	from string,
	config configs.Config,
	cache provision.Cache,
	term cli.Terminal,
) error {
	if info, err := os.Stat(from); err == nil && !info.IsDir() {
		return cli.Usagef(
			"%s is a file: name the folder that holds it, with tokenizer.json or vocab.txt beside it and, if there are, config.json and the files of sentence-transformers",
			from,
		)
	}
	x.options.Tell = func(a convert.Assumption) {
		_, _ = fmt.Fprintf(term.Err, "note: %s (%s)\n", a.Text, cli.ImportFlags(a.Setting))
	}
	if !x.unchecked {
		x.options.Check = func(b *models.Bundle) error { return x.checkImported(ctx, from, b, config, cache, term) }
	}
	b, err := shipped.Import(ctx, cache, from, x.out, x.options)
	var missing *provision.MissingError
	switch {
	case err == nil:
	case errors.As(err, &missing):
		return fmt.Errorf("%w, or name the base's folder with --base", err)
	case errors.Is(err, shipped.ErrNoFolder):
		return cli.Usagef("--out or --name: %w", err)
	case errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "tokenizer.json"):
		return fmt.Errorf(
			"%w: a checkpoint is a folder with config.json, model.safetensors and tokenizer.json or vocab.txt", err,
		)
	default:
		return err
	}
	_, err = fmt.Fprintln(term.Out, b.Summary())
	return err
}
