package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/access"
	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/internal/sources"
)

// A message that lacks what was said before it ("and for children?") is asked twice: by itself, and
// behind the user's messages before it. Each passage has both fused scores, whatever question found
// it, and the second counts the less the more words the message has of its own: one that stands alone
// leads by itself where the talk has moved on to something else (docs/evidence/trials.md).
const (
	earlierWords = 4  // for so many words of the message, both scores count alike
	earlierMost  = .7 // but the second no more than this

	// earlierAnswerable is how much the log-odds behind the earlier messages count beside the
	// message's own for whether the collection answers it.
	earlierAnswerable = .25
)

// OriginEarlier is the origin of the contribution of a question's earlier messages, and
// EarlierSource its source.
const (
	OriginEarlier = "earlier"
	EarlierSource = "messages"
)

// earlierWeight returns what the fused scores of a message behind the earlier ones are multiplied by.
func earlierWeight(message string) float64 {
	return min(earlierMost, earlierWords/float64(max(len(strings.Fields(message)), 1)))
}

// askInConversation puts an inquiry to its sources, and at the same time the same question behind those before it
// where there are any; behind "" is none.
func (l *lineUp) askInConversation(
	ctx context.Context,
	q sources.Inquiry,
	behind string,
	view *snapshot.Pinned,
) *outcome {
	ask := func(q sources.Inquiry) (*sources.Findings, []question.Correction, []question.Expansion) {
		var corrections []question.Correction
		var used []question.Expansion
		if q.Correct &&
			access.Restriction(ctx) == nil { // what is said of it may be words of passages that are not seen
			q.Question, corrections = question.Speller{Run: l.panel.Run, Language: l.language}.Correct(ctx, view, q.Question)
		}
		q.Words, used = question.AddSynonyms(q.Question, l.defaults.Synonyms)
		return l.panel.Ask(ctx, q, view), corrections, used
	}
	var running sync.WaitGroup
	o := &outcome{}
	if behind != "" {
		other := q
		other.Question = behind
		running.Go(func() { o.earlier, _, _ = ask(other) })
	}
	o.found, o.corrections, o.synonyms = ask(q)
	running.Wait()
	return o
}

// behindEarlier returns the answer to the question behind the earlier ones, to be completed and fused,
// and lets each of both rank what the other found. It returns nil where there are none. A note says
// where no source answered that.
func (a *answer) behindEarlier(ctx context.Context, earlier *sources.Findings) *answer {
	if earlier == nil {
		return nil
	}
	findings := earlier.FindingsOf(&a.plan.inquiry)
	if err := earlier.CheckAnswered(findings); err != nil {
		a.degraded = append(a.degraded, Missing{
			Source: EarlierSource,
			Reason: "the question was asked without the messages before it: behind them no source answered in time",
		})
		return nil
	}
	behind := newAnswer(a.rules, a.plan, earlier, findings)
	behind.encodeReference(ctx)
	behind.others = foundBy(a.findings)
	a.others = foundBy(behind.findings)
	return behind
}

// foundBy returns the passages that were found, ascending, each once.
func foundBy(findings []sources.Finding) []rank.Ordinal {
	all := []rank.Ordinal{}
	for _, f := range findings {
		for _, h := range f.Hits {
			all = append(all, h.Ordinal)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// addEarlier adds to the score of each passage what the question behind the earlier ones gives it: how
// far that lies above the least. The confidence is that of the question that ranks the first passage
// first; where both do, the higher of the two, and where none does, the lower. A reranker gets the
// question whose confidence it is, and a reader the last message.
func (a *answer) addEarlier(behind *answer) {
	weight := earlierWeight(a.found.Inquiry.Question)
	for i := range a.rankings {
		own := &a.rankings[i]
		other := &behind.rankings[i]
		if len(own.Items) == 0 || len(other.Items) == 0 {
			continue
		}
		alone := own.Items[0].Ordinal
		said := make(map[rank.Ordinal]float64, len(other.Items))
		for _, item := range other.Items {
			said[item.Ordinal] = item.Score
		}
		least := other.Items[len(other.Items)-1].Score
		for n := range own.Items {
			item := &own.Items[n]
			score, ranked := said[item.Ordinal]
			if !ranked {
				score = least
			}
			item.Score += weight * (score - least)
			a.credit(i, item.Ordinal, Contribution{
				Source:       EarlierSource,
				Score:        run.Ptr(run.Printed(score - least)),
				Origin:       OriginEarlier,
				Weight:       run.Printed(weight),
				Contribution: run.Printed(weight * (score - least)),
			})
		}
		slices.SortStableFunc(own.Items, func(x, y fusion.Item) int {
			switch {
			case x.Score > y.Score:
				return -1
			case x.Score < y.Score:
				return 1
			}
			return 0
		})
		own.Answerable = answerableBehind(own.Answerable, other.Answerable)
		first := own.Items[0].Ordinal
		if followsEarlier(first == alone, first == other.Items[0].Ordinal, own.Confidence, other.Confidence) {
			own.Confidence, own.Any = other.Confidence, other.Any
			if i == 0 {
				a.asked = behind.found.Inquiry.Question
			}
		}
	}
	for _, m := range behind.degraded {
		if !slices.Contains(a.degraded, m) {
			a.degraded = append(a.degraded, m)
		}
	}
}

// answerableBehind returns the chance that a message is answered, by that of itself and that behind the
// earlier ones, which they raise and never lower: a talk that was answered says little of a question on
// something else. nil where its own is not known.
func answerableBehind(alone, behind *float64) *float64 {
	if alone == nil || behind == nil {
		return alone
	}
	odds := run.LogOdds(*alone) + earlierAnswerable*max(run.LogOdds(*behind), 0)
	return run.Ptr(1 / (1 + math.Exp(-odds)))
}

// followsEarlier reports whether the confidence is that of the question behind the earlier ones: of the
// two questions' own first passages, which is the first of both together, and how sure each is.
func followsEarlier(alone, behind bool, sure, surer *float64) bool {
	if alone != behind {
		return behind
	}
	own, other := math.Inf(-1), math.Inf(-1)
	if sure != nil {
		own = *sure
	}
	if surer != nil {
		other = *surer
	}
	if alone {
		return other > own
	}
	return other < own
}
