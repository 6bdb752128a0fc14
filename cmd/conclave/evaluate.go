package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"conclave/evaluation"
	"conclave/search"

	"github.com/spf13/cobra"
)

// evaluationTimeout is what the sources have for one question; accuracy is
// measured here, not speed.
const evaluationTimeout = 30 * time.Second

func newEvaluate(term terminal) *cobra.Command {
	var files []string
	var fusions, runs string
	var alone, asJSON bool
	command := &cobra.Command{
		Use:   "evaluate",
		Short: "Measure the accuracy of every method on questions with known passages",
		Long: `Asks a collection every question of the files (JSON Lines with "question" and
"positive_ids" or "grades", and optionally "domain") and prints how often the
right passages come first, for each fusion method and each source alone.`,
		Example: `  conclave evaluate --collection my-index --questions dev.jsonl
  conclave evaluate --collection my-index --questions dev.jsonl.gz --fusions rrf,hybrid --runs runs/`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			var questions []evaluation.Question
			for _, file := range files {
				more, err := evaluation.ReadQuestions(file)
				if err != nil {
					return err
				}
				questions = append(questions, more...)
			}
			config.Limits.Timeout = max(config.Limits.Timeout, evaluationTimeout)
			config.Limits.K, config.Limits.Candidates = max(config.Limits.K, 100), max(config.Limits.Candidates, 100)
			l, err := openLibrary(config, newLogger(term.Err, config.Log), complaining{term.Err})
			defer func() { err = errors.Join(err, l.Close()) }()
			if err != nil {
				return err
			}
			if err := l.hasAny(questions); err != nil {
				return fmt.Errorf("%s: %w", config.Collection, err)
			}
			bar := newProgress(term.Err)
			options := evaluation.Options{
				Methods: methodsFor(fusions, l.engine.Experts()), Depth: 100, Timeout: evaluationTimeout, Words: alone,
				Progress: func(done, total int) { bar.Report("asking", int64(done), int64(total), "questions") },
			}
			if alone {
				for _, x := range l.engine.Experts() {
					options.Experts = append(options.Experts, x.Name)
				}
			}
			measured, err := evaluation.Measure(cmd.Context(), l.engine, questions, options)
			bar.Finish()
			if err != nil {
				return err
			}
			if runs != "" {
				if err := writeRuns(runs, measured); err != nil {
					return err
				}
			}
			tables := evaluation.Tables(measured)
			if asJSON {
				return json.NewEncoder(term.Out).Encode(tables)
			}
			return evaluation.WriteText(term.Out, tables)
		},
	}
	flags := command.Flags()
	addConfigFlags(flags, "collection", "bundles", "encoder.provider", "search.alpha")
	flags.StringArrayVar(&files, "questions", nil, "`file` of questions, JSON Lines, may be gzip-compressed; may be repeated")
	flags.StringVar(&fusions, "fusions", "all", "fusion methods with commas, or all that the experts allow")
	flags.BoolVar(&alone, "alone", true, "measure each source alone, too")
	flags.StringVar(&runs, "runs", "", "`folder` to write each method's ranking to, as a TREC run and as DPR's result")
	flags.BoolVar(&asJSON, "json", false, "for programs")
	_ = command.MarkFlagRequired("questions")
	return command
}

// methodsFor are the methods to compare: those that were named, or all that
// these experts can do.
func methodsFor(fusions string, experts []search.ExpertInfo) []string {
	if fusions != "all" {
		return strings.Split(fusions, ",")
	}
	calibrated := len(experts) > 0
	for _, x := range experts {
		calibrated = calibrated && x.Calibration != nil && x.EnsembleMembers > 1
	}
	var out []string
	for _, name := range search.MethodNames() {
		switch name {
		case search.MethodAuto:
		case search.MethodMUF, search.MethodMUFSparse:
			if calibrated {
				out = append(out, name)
			}
		case search.MethodHybrid:
			if len(experts) == 1 || calibrated {
				out = append(out, name)
			}
		default:
			out = append(out, name)
		}
	}
	return out
}

func writeRuns(folder string, runs []evaluation.Run) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, run := range runs {
		name := strings.ReplaceAll(run.Name, " ", "-")
		run.Name = name
		if err := writeRun(filepath.Join(folder, name+".trec"), run, true); err != nil {
			return err
		}
		if err := writeRun(filepath.Join(folder, name+".dpr.json"), run, false); err != nil {
			return err
		}
	}
	return nil
}

func writeRun(path string, run evaluation.Run, trec bool) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	write := evaluation.WriteDPR
	if trec {
		write = evaluation.WriteTREC
	}
	if err := write(file, run); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// hasAny makes sure that the questions are about this collection: that at
// least one of their passages is in it.
func (l *library) hasAny(questions []evaluation.Question) error {
	g := l.collection.Acquire()
	defer g.Release()
	for _, q := range questions {
		for id := range q.Judgements() {
			if _, ok, err := g.Ordinal(id); err != nil {
				return err
			} else if ok {
				return nil
			}
		}
	}
	return fmt.Errorf("none of the passages of these %d questions are in the collection: is it another one, or were the ids indexed with a prefix?", len(questions))
}
