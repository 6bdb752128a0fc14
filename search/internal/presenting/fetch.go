package presenting

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// Fetch reads the texts of the ranked passages and replaces a.Response by the response, apart from facets and a
// generated answer. It fails if passages cannot be read or the answer becomes too large.
func (a *Page) Fetch(ctx context.Context) error {
	p := a.answer.Plan
	if a.answer.Known != nil && a.answer.Found.Panel.Specialists(&p.Inquiry) != nil {
		a.answer.Observe(ctx) // so that those asked say how familiar the question is, as those skipped do
	}
	part := a.asked.Part
	if a.answer.Asked != a.answer.Found.Inquiry.Question || a.answer.Found.Inquiry.Message != "" {
		part = a.answer.Asked
	}
	a.Response = reply.Response{
		Question: cmp.Or(
			p.Inquiry.Message, p.Inquiry.Question,
		), Asked: part, Corrected: a.asked.Corrections, Synonyms: a.asked.Synonyms,
		Generation: a.answer.Found.View.Generation(),
		Degraded:   make([]reply.Missing, 0, len(a.answer.Degraded)), Answers: a.answer.Extracts,
	}
	if p.Offsets != reply.OffsetBytes {
		a.Response.Offsets = p.Offsets
	}
	if a.answer.Found.View.Selected != nil {
		n, err := a.answer.Found.View.Selected(ctx)
		if err != nil {
			return fmt.Errorf("counting the passages that the filter lets through: %w", err)
		}
		a.Response.Selected = &n
	}
	if p.Explain {
		a.Response.FunctionWords = a.answer.Rules.Words.FunctionWordsOf(
			ctx, a.answer.Found.View, a.answer.Found.Inquiry.Question,
		)
	}
	if p.Explain {
		overridden, err := a.overridden(ctx)
		if err != nil {
			return err
		}
		a.Response.Overridden = overridden
	}
	if p.Fields.Sources {
		a.Response.Sources = a.describeSources(ctx)
	}
	for _, f := range a.answer.Findings {
		if f.Status != reply.StatusOK && f.Status != reply.StatusSkipped {
			a.Response.Degraded = append(a.Response.Degraded, reply.Missing{Source: f.Source.Name(), Reason: f.Reason})
		}
	}
	a.Response.Degraded = append(a.Response.Degraded, a.answer.Degraded...)
	if a.asked.Doubt != "" {
		a.Response.Degraded = append(a.Response.Degraded, reply.Missing{Source: reply.WordSource, Reason: a.asked.Doubt})
	}
	if p.Unwritten != nil {
		a.Response.Degraded = append(a.Response.Degraded, *p.Unwritten)
	}
	a.Response.Degraded = append(a.Response.Degraded, p.Absent...)
	_, note := a.answer.Found.Wording(a.answer.Found.Inquiry.Question)
	note = cmp.Or(note, a.answer.Found.UnreadNote())
	if note != "" && len(p.Experts) > 0 {
		a.Response.Notes = append(a.Response.Notes, note)
	}
	if note := cmp.Or(a.missingConfidenceNote(ctx), a.answer.MissingVerdictNote()); note != "" {
		a.Response.Notes = append(a.Response.Notes, note)
	}
	a.Response.Notes = append(a.Response.Notes, a.answer.Notes...)
	if p.Useless != nil {
		a.Response.Notes = append(
			a.Response.Notes,
			p.Useless.Name+" has no part in the ranking: by the calibration of this collection the passages are in better order without it",
		)
	}
	if a.answer.ReadPartly > 0 {
		a.Response.Notes = append(
			a.Response.Notes,
			fmt.Sprintf(
				"%s read only the beginning of %d of %d passages, since they are too long for it; an answer further on is not marked",
				p.Reader.Name, a.answer.ReadPartly, len(a.answer.ToRead),
			),
		)
	}

	for i, m := range p.Methods {
		ranking, err := a.methodRanking(ctx, m, i)
		if err != nil {
			return err
		}
		if p.Listed {
			a.Response.Rankings = append(a.Response.Rankings, ranking)
			continue
		}
		a.Response.Fusion, a.Response.Confidence, a.Response.Any = m.Name, ranking.Confidence, ranking.Any
		a.Response.Judged = ranking.Judged
		if a.answer.Extracts != nil &&
			(ranking.Abstained || ranking.Verdict == reply.VerdictNotFound || a.answer.Misnamed) {
			a.Response.Answers = []reply.Extract{}
		}
		a.Response.Basis, a.Response.Abstained, a.Response.Results = ranking.Basis, ranking.Abstained, ranking.Results
		if p.GroupBy != "" {
			a.Response.Groups, a.Response.Results = a.groupResults(ranking.Results), nil
		}
	}
	if v := a.Response.Verdict; a.answer.HasPins() && v != "" && v != reply.VerdictFound && !a.Response.Abstained {
		a.Response.Notes = append(a.Response.Notes, "the first results were chosen for this question by an administrator: "+
			"confidence and verdict are those of the ranking without this choice")
	}
	return nil
}

// methodRanking returns the ranking of the method at an index of Plan.Methods, with results, confidences and verdict.
// It has no results if the request abstains at this confidence. If the request did not list methods, it also adds a
// note on doubts about the verdict to the response. It fails if passages cannot be read, ctx ends, or the answer
// becomes too large.
func (a *Page) methodRanking(ctx context.Context, m plan.Method, at int) (reply.Ranking, error) {
	r := &a.answer.Rankings[at]
	out := reply.Ranking{
		Fusion: m.Asked, Confidence: run.PrintedOf(r.Confidence), Any: run.PrintedOf(r.Any),
		Judged: a.answer.VerdictFor(r.Answerable),
	}
	if m.Name != m.Asked {
		out.Method = m.Name
	}
	if !a.answer.Plan.Listed {
		e := answering.Estimates{Confidence: out.Confidence, Any: out.Any, Judged: out.Judged}
		if note := a.answer.LowerVerdict(ctx, &e, a.answer.Head(at)); note != "" {
			a.Response.Notes = append(a.Response.Notes, note)
		}
		out.Judged = e.Judged
	}
	out.Abstained = a.answer.Plan.Abstains(out.Confidence)
	if out.Confidence != nil {
		out.Basis = reply.BasisCalibrated
		switch {
		case m.Basis() == fusion.FromChances:
			out.Basis = a.answer.ChancesBasis()
		case m.Basis() == fusion.FromEnsembles:
			out.Basis = reply.BasisEnsembles
		case m.Basis() == fusion.FromSurest && !m.Confident(a.answer.Plan.Offer):
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

// missingConfidenceNote returns a note for users on why the answer has no confidence: there were too few random
// passages to compare the question with, or the question's keys could not be looked up. It returns "" if there is a
// confidence, or if another reason explains its absence.
func (a *Page) missingConfidenceNote(ctx context.Context) string {
	without := false
	for i, m := range a.answer.Plan.Methods {
		without = without || m.WeighsByQuestion() && a.answer.Rankings[i].Confidence == nil
	}
	if !without || a.answer.Rules.Chances == nil || a.answer.Keyless == nil && fusion.Compared(a.answer.Observe(ctx)) {
		return ""
	}
	random := len(a.answer.Found.View.Passages().Sample(content.RandomPassages))
	note := fmt.Sprintf(
		"there is no confidence: it compares the question with at least %d passages that were drawn without it, and there are %d",
		fusion.LeastRandom, random,
	)
	switch {
	case a.answer.Keyless != nil:
		note = "there is no confidence: what the first passage holds of the question could not be looked up in time"
	case random >= fusion.LeastRandom:
		note = "there is no confidence: the question could not be compared with other passages in time"
	}
	if a.answer.Plan.MinConfidence > 0 {
		note += "; min_confidence lets no answer without one through"
	}
	return note
}

// describeSources returns what the answer says of each source: status, hits, time, why a method does not use it, and
// confidence, chance and familiarity if known. Weight is set if the source answered (StatusOK) and the request does not
// list methods: weights then differ by ranking, and contributions have them.
func (a *Page) describeSources(ctx context.Context) []reply.Source {
	all := make([]reply.Source, len(a.answer.Findings))
	for i, f := range a.answer.Findings {
		s := reply.Source{
			Name:      f.Source.Name(),
			Kind:      f.Source.Kind(),
			Status:    f.Status,
			Hits:      len(f.Hits),
			Truncated: f.Cut,
			Took:      f.Took,
		}
		for _, m := range a.answer.Plan.Methods {
			if reason := a.answer.Found.Panel.ExclusionReason(a.answer.Plan.Offer, m.Method, f.At); reason != "" {
				s.Reason = reason
			}
		}
		if s.Reason == "" && f.Status == reply.StatusSkipped {
			s.Reason = f.Reason
		}
		s.Domains = f.Domains()
		if f.Sure != nil {
			s.Confidence, s.Uncertainty = run.Ptr(run.Printed(f.Sure.Confidence)), run.Ptr(
				run.Printed(f.Sure.MutualInformation),
			)
		}
		if !a.answer.Plan.Listed && f.Status == reply.StatusOK {
			s.Weight = run.Ptr(run.Printed(a.answer.Rankings[0].Weights[i]))
		}
		all[i] = s
	}
	a.giveChances(ctx, all)
	for i, f := range a.answer.Findings {
		if f.Familiarity != nil {
			all[i].Familiarity = run.Ptr(run.Printed(*f.Familiarity))
		}
	}
	return all
}

// giveChances sets the chance of each source, that is the probability that its own first hit answers. It sets none if
// no source is calibrated, words did not answer, or the question's familiarity is not known.
func (a *Page) giveChances(ctx context.Context, all []reply.Source) {
	calibrated := slices.ContainsFunc(
		a.answer.Findings, func(f sources.Finding) bool { return f.Source.Chance() != nil },
	)
	if !calibrated || a.answer.Found.Panel.Reference != nil && a.answer.Known == nil {
		return
	}
	observed := a.answer.Observe(ctx)
	if !slices.ContainsFunc(observed, func(o fusion.ObservedSource) bool { return o.Kind == fusion.Lexical }) {
		return
	}
	features := fusion.FeaturesOf(a.answer.Table, observed)
	for at, o := range observed {
		chance := a.answer.Findings[o.Column].Source.Chance()
		signals := fusion.SourceSignals(a.answer.Table, observed, features, at)
		if chance == nil || signals == nil {
			continue
		}
		if x, err := chance.Of(signals); err == nil { // an error says that it was calibrated as another kind of source
			all[o.Column].Chance = run.Ptr(run.Printed(x))
		}
	}
}

// results returns the results of the ranking at an index, with the fields that the request asks for. It fails if
// passages cannot be read, ctx ends, or the answer becomes too large.
func (a *Page) results(ctx context.Context, ranking int) ([]reply.Result, error) {
	items, passages, err := a.answer.Texts(ctx, a.answer.Rankings[ranking].Items)
	if err != nil {
		return nil, err
	}
	if a.answer.Plan.Fields.Highlights {
		a.fetchVectors(ctx, items)
	}
	results := make([]reply.Result, len(items))
	for n, item := range items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		passage := passages[n]
		result := reply.Result{
			Rank: a.answer.Plan.Offset + n + 1, ID: passage.ID, Score: run.Printed(item.Score),
			Collection: a.answer.Found.View.CollectionOf(item.Ordinal), Pinned: a.answer.IsPinned(item.Ordinal),
		}
		if a.answer.Plan.Fields.Title {
			result.Title = passage.Title
		}
		if a.answer.Plan.Fields.Text {
			result.Text = passage.Text
		}
		if a.answer.Plan.Fields.Tags {
			result.Tags = passage.Tags
		}
		if a.answer.Plan.Fields.Metadata {
			result.Metadata = passage.Metadata
		}
		if a.answer.Plan.Fields.Document {
			result.Place = reply.PlaceOf(&passage)
			result.Extent = reply.ExtentOf(&passage, a.answer.Plan.Offsets)
			if err := a.answer.Grow(result.Place.Bytes()); err != nil {
				return nil, err
			}
		}
		if a.answer.Plan.Fields.Contributions {
			result.Contributions = make([]reply.Contribution, len(item.Parts))
			for i := range item.Parts {
				result.Contributions[i] = answering.ContributionOf(
					a.answer.Findings[item.Parts[i].Column].Source.Name(), &item.Parts[i],
				)
			}
			result.Contributions = append(
				result.Contributions,
				a.answer.Credits[answering.CreditKey{Ranking: ranking, Passage: item.Ordinal}]...)
		}
		if a.answer.Plan.Fields.Highlights {
			result.Highlights, result.Highlight = a.highlight(ctx, &item, passage)
			countHighlights(a.answer.Plan.Offsets, passage.Title, passage.Text, result.Highlights, result.Highlight)
			if err := a.answer.Grow((len(result.Highlights) + 1) * answering.HighlightBytes); err != nil {
				return nil, err
			}
		}
		if a.answer.Plan.Explain {
			result.Explanation = a.explain(ctx, item)
			if err := a.answer.Grow(len(result.Explanation) * answering.TermBytes); err != nil {
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

// overridden returns the ids that administrators pinned and hid for the question; nil if there are none. Pinned
// passages that the caller may not find are left out, and for a restricted caller what is hidden. It fails if ids
// cannot be read.
func (a *Page) overridden(ctx context.Context) (*reply.Overridden, error) {
	pinned, err := a.answer.Found.View.Passages().IDs(a.answer.Pinned())
	if err != nil {
		return nil, fmt.Errorf("reading the ids of pinned passages: %w", err)
	}
	out := reply.Overridden{Pinned: pinned}
	if !identity.IsRestricted(ctx) {
		for _, h := range a.answer.Plan.Inquiry.Filter.Hidden {
			out.Hidden = append(out.Hidden, h.ID)
		}
	}
	if len(out.Pinned)+len(out.Hidden) == 0 {
		return nil, nil
	}
	return &out, nil
}

// explain returns the terms of which a result's scores are sums, of every source that has such terms. If a source
// fails, it reports that and returns nil.
func (a *Page) explain(ctx context.Context, item fusion.Item) []storage.TermScore {
	var all []storage.TermScore
	for _, part := range item.Parts {
		f := &a.answer.Findings[part.Column]
		if f.Explain == nil {
			continue
		}
		var terms []storage.TermScore
		err := run.Guard(func() (err error) {
			terms, err = f.Explain(ctx, item.Ordinal)
			return err
		})
		if err != nil {
			a.answer.Found.Panel.Run.Report.Source(
				ctx, f.Source.Name(), reply.StatusFailed, fmt.Errorf("explaining: %w", err),
			)
			return nil
		}
		all = append(all, terms...)
	}
	return all
}
