package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/storage"
)

// fetch makes the response of the fused rankings: texts, contributions, and the status of
// every source.
func (a *answer) fetch(ctx context.Context, o *outcome) error {
	p := a.plan
	if a.known != nil && a.found.Panel.Specialists(&p.inquiry) != nil {
		a.Observe(ctx) // so that those asked say how familiar the question is, as those skipped do
	}
	part := o.part
	if a.asked != a.found.Inquiry.Question || a.found.Inquiry.Message != "" {
		part = a.asked
	}
	a.response = Response{
		Question: cmp.Or(p.inquiry.Message, p.inquiry.Question), Asked: part, Corrected: o.corrections, Synonyms: o.synonyms,
		Generation: a.found.View.Generation(),
		Degraded:   make([]Missing, 0, len(a.degraded)), Answers: a.extracts,
	}
	if p.offsets != OffsetBytes {
		a.response.Offsets = p.offsets
	}
	if a.found.View.Selected != nil {
		n, err := a.found.View.Selected(ctx)
		if err != nil {
			return fmt.Errorf("counting the passages that the filter lets through: %w", err)
		}
		a.response.Selected = &n
	}
	if p.explain {
		a.response.FunctionWords = a.rules.words.FunctionWordsOf(ctx, a.found.View, a.found.Inquiry.Question)
	}
	if p.fields.sources {
		a.response.Sources = a.describeSources(ctx)
	}
	for _, f := range a.findings {
		if f.Status != sources.StatusOK && f.Status != sources.StatusSkipped {
			a.response.Degraded = append(a.response.Degraded, Missing{Source: f.Source.Name(), Reason: f.Reason})
		}
	}
	a.response.Degraded = append(a.response.Degraded, a.degraded...)
	if p.unwritten != nil {
		a.response.Degraded = append(a.response.Degraded, *p.unwritten)
	}
	a.response.Degraded = append(a.response.Degraded, p.absent...)
	if _, note := a.found.Panel.Wording(a.found.Inquiry.Question); note != "" && len(p.experts) > 0 {
		a.response.Notes = append(a.response.Notes, note)
	}
	if note := cmp.Or(a.incomparable(ctx), a.undecided()); note != "" {
		a.response.Notes = append(a.response.Notes, note)
	}
	a.response.Notes = append(a.response.Notes, a.notes...)
	if p.useless != nil {
		a.response.Notes = append(
			a.response.Notes,
			p.useless.Name+" has no part in the ranking: by the calibration of this collection the passages are in better order without it",
		)
	}
	if a.unread > 0 {
		a.response.Notes = append(
			a.response.Notes,
			fmt.Sprintf(
				"%s read only the beginning of %d of %d passages, since they are too long for it; an answer further on is not marked",
				p.reader.Name,
				a.unread,
				len(a.toRead),
			),
		)
	}

	for i, m := range p.methods {
		ranking, err := a.ranking(ctx, m, i)
		if err != nil {
			return err
		}
		if p.listed {
			a.response.Rankings = append(a.response.Rankings, ranking)
			continue
		}
		a.response.Fusion, a.response.Confidence, a.response.Any = m.Name, ranking.Confidence, ranking.Any
		a.response.Judged = ranking.Judged
		if a.extracts != nil && (ranking.Abstained || ranking.Verdict == VerdictNotFound || a.misnamed) {
			a.response.Answers = []Extract{}
		}
		a.response.Basis, a.response.Abstained, a.response.Results = ranking.Basis, ranking.Abstained, ranking.Results
		if p.groupBy != "" {
			a.response.Groups, a.response.Results = a.group(ranking.Results), nil
		}
	}
	return nil
}

// ranking returns a method's fused ranking as answers have it.
func (a *answer) ranking(ctx context.Context, m plannedMethod, at int) (Ranking, error) {
	r := &a.rankings[at]
	out := Ranking{
		Fusion: m.asked, Confidence: run.PrintedOf(r.Confidence), Any: run.PrintedOf(r.Any), Judged: a.judged(r.Answerable),
	}
	if m.Name != m.asked {
		out.Method = m.Name
	}
	if !a.plan.listed {
		a.doubt(ctx, &out, r.Items)
	}
	out.Abstained = a.plan.abstains(out.Confidence)
	if out.Confidence != nil {
		out.Basis = BasisCalibrated
		switch {
		case m.Basis() == fusion.FromChances:
			out.Basis = a.rules.chancesBasis
		case m.Basis() == fusion.FromEnsembles:
			out.Basis = BasisEnsembles
		case m.Basis() == fusion.FromSurest && !m.Confident(a.plan.offer):
			out.Basis = "" // nobody fitted it
		}
	}
	if out.Abstained { // what a reader said may be why
		r.Items = nil
	}
	var err error
	out.Results, err = a.results(ctx, at)
	return out, err
}

// incomparable returns a note where an answer has no confidence for want of what that is read from:
// passages that the question is compared with, or what the first passage holds of it; "" elsewhere.
func (a *answer) incomparable(ctx context.Context) string {
	without := false
	for i, m := range a.plan.methods {
		without = without || m.WeighsByQuestion() && a.rankings[i].Confidence == nil
	}
	if !without || a.rules.chances == nil || a.keyless == nil && fusion.Compared(a.Observe(ctx)) {
		return ""
	}
	random := len(a.found.View.Passages().Sample(content.RandomPassages))
	note := fmt.Sprintf(
		"there is no confidence: it compares the question with at least %d passages that were drawn without it, and there are %d",
		fusion.LeastRandom,
		random,
	)
	switch {
	case a.keyless != nil:
		note = "there is no confidence: what the first passage holds of the question could not be looked up in time"
	case random >= fusion.LeastRandom:
		note = "there is no confidence: the question could not be compared with other passages in time"
	}
	if a.plan.minConfidence > 0 {
		note += "; min_confidence lets no answer without one through"
	}
	return note
}

// abstains reports whether the request wants no answer at this confidence.
func (p *plan) abstains(confidence *float64) bool {
	return p.minConfidence > 0 && (confidence == nil || *confidence < p.minConfidence)
}

// describeSources returns the status of every source. With one method it has that method's weights.
// In a list of methods the weights differ by ranking and are in the contributions.
func (a *answer) describeSources(ctx context.Context) []Source {
	all := make([]Source, len(a.findings))
	for i, f := range a.findings {
		s := Source{
			Name:      f.Source.Name(),
			Kind:      f.Source.Kind(),
			Status:    f.Status,
			Hits:      len(f.Hits),
			Truncated: f.Cut,
			Took:      f.Took,
		}
		for _, m := range a.plan.methods {
			if reason := a.found.Panel.Excluded(a.plan.offer, m.Method, f.At); reason != "" {
				s.Reason = reason
			}
		}
		s.Domains = f.Domains()
		if f.Sure != nil {
			s.Confidence, s.Uncertainty = run.Ptr(run.Printed(f.Sure.Confidence)), run.Ptr(run.Printed(f.Sure.MutualInformation))
		}
		if !a.plan.listed && f.Status == sources.StatusOK {
			s.Weight = run.Ptr(run.Printed(a.rankings[0].Weights[i]))
		}
		all[i] = s
	}
	a.giveChances(ctx, all)
	for i, f := range a.findings {
		if f.Familiarity != nil {
			all[i].Familiarity = run.Ptr(run.Printed(*f.Familiarity))
		}
	}
	return all
}

// giveChances fills in the chances that the sources' own first hits answer, where they
// are calibrated and what they are read from was asked for: words, and how familiar the
// question is.
func (a *answer) giveChances(ctx context.Context, all []Source) {
	calibrated := slices.ContainsFunc(a.findings, func(f sources.Finding) bool { return f.Source.Chance() != nil })
	if !calibrated || a.found.Panel.Reference != nil && a.known == nil {
		return
	}
	observed := a.Observe(ctx)
	if !slices.ContainsFunc(observed, func(o fusion.Observed) bool { return o.Kind == fusion.Lexical }) {
		return
	}
	features := fusion.FeaturesOf(a.table, observed)
	for at, o := range observed {
		chance := a.findings[o.Column].Source.Chance()
		signals := fusion.SourceSignals(a.table, observed, features, at)
		if chance == nil || signals == nil {
			continue
		}
		if x, err := chance.Of(signals); err == nil { // an error says that it was calibrated as another kind of source
			all[o.Column].Chance = run.Ptr(run.Printed(x))
		}
	}
}

// results makes the results of a fused ranking.
func (a *answer) results(ctx context.Context, ranking int) ([]Result, error) {
	items, passages, err := a.texts(ctx, a.rankings[ranking].Items)
	if err != nil {
		return nil, err
	}
	if a.plan.fields.highlights {
		a.fetchVectors(ctx, items)
	}
	results := make([]Result, len(items))
	for n, item := range items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		passage := passages[n]
		result := Result{
			Rank: a.plan.offset + n + 1, ID: passage.ID, Score: run.Printed(item.Score),
			Collection: a.found.View.CollectionOf(item.Ordinal),
		}
		if a.plan.fields.title {
			result.Title = passage.Title
		}
		if a.plan.fields.text {
			result.Text = passage.Text
		}
		if a.plan.fields.tags {
			result.Tags = passage.Tags
		}
		if a.plan.fields.metadata {
			result.Metadata = passage.Metadata
		}
		if a.plan.fields.document {
			result.Place = PlaceOf(&passage)
			result.Extent = ExtentOf(&passage, a.plan.offsets)
			if err := a.grow(result.Place.bytes()); err != nil {
				return nil, err
			}
		}
		if a.plan.fields.contributions {
			result.Contributions = make([]Contribution, len(item.Parts))
			for i := range item.Parts {
				result.Contributions[i] = contributionOf(a.findings[item.Parts[i].Column].Source.Name(), &item.Parts[i])
			}
			result.Contributions = append(result.Contributions, a.credits[credited{ranking, item.Ordinal}]...)
		}
		if a.plan.fields.highlights {
			result.Highlights, result.Highlight = a.highlight(ctx, &item, passage)
			a.plan.countHighlights(passage.Title, passage.Text, result.Highlights, result.Highlight)
			if err := a.grow((len(result.Highlights) + 1) * highlightBytes); err != nil {
				return nil, err
			}
		}
		if a.plan.explain {
			result.Explanation = a.explain(ctx, item)
			if err := a.grow(len(result.Explanation) * termBytes); err != nil {
				return nil, err
			}
		}
		results[n] = result
	}
	if err := a.addNeighbours(ctx, results, passages); err != nil {
		return nil, err
	}
	ordinals := make([]rank.Ordinal, len(items))
	for n, item := range items {
		ordinals[n] = item.Ordinal
	}
	return results, a.nameCopies(ctx, results, ordinals)
}

// texts returns those of the items that are still there, and their passages.
func (a *answer) texts(
	ctx context.Context,
	items []fusion.Item,
) (found []fusion.Item, passages []corpus.Passage, err error) {
	ordinals := make([]rank.Ordinal, len(items))
	for i, item := range items {
		ordinals[i] = item.Ordinal
	}
	passages, err = a.found.View.Passages().Read(ctx, ordinals)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the passages: %w", err)
	}
	if !slices.ContainsFunc(passages, storage.IsDeleted) {
		return items, passages, nil
	}
	for i, p := range passages {
		if !storage.IsDeleted(p) {
			found = append(found, items[i])
		}
	}
	return found, slices.DeleteFunc(passages, storage.IsDeleted), nil
}

// contributionOf returns what a source added; it points into the part.
func contributionOf(source string, part *fusion.Part) Contribution {
	c := Contribution{
		Source: source, Origin: part.Origin.String(),
		Weight: run.Printed(part.Weight), Contribution: run.Printed(part.Contribution),
	}
	if part.Origin != fusion.FromNone {
		part.Score = run.Printed(part.Score)
		c.Score = &part.Score
	}
	if part.Rank > 0 {
		c.Rank = &part.Rank
	}
	return c
}

// explain returns the terms of a result's scores, of every source that has terms. If an
// explanation fails, the answer comes without it.
func (a *answer) explain(ctx context.Context, item fusion.Item) []storage.TermScore {
	var all []storage.TermScore
	for _, part := range item.Parts {
		f := &a.findings[part.Column]
		if f.Explain == nil {
			continue
		}
		var terms []storage.TermScore
		err := run.Guard(func() (err error) {
			terms, err = f.Explain(ctx, item.Ordinal)
			return err
		})
		if err != nil {
			a.found.Panel.Run.Report.Source(ctx, f.Source.Name(), sources.StatusFailed, fmt.Errorf("explaining: %w", err))
			return nil
		}
		all = append(all, terms...)
	}
	return all
}
