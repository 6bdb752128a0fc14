package answering

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// earlierWords divided by the number of words of a message is earlierWeight.
const earlierWords = 4

// earlierWeight returns the weight of the scores of a message together with the earlier ones, next to 1 for those of
// the message alone: earlierMost, and less for a message of many words.
func earlierWeight(message string) float64 {
	return min(earlierMost, earlierWords/float64(max(len(strings.Fields(message)), 1)))
}

// BehindEarlier returns the candidates of the question asked together with the messages before it (earlier), which are
// to be ranked too. Both candidates then score the passages of either. It returns nil if earlier is nil, or if no
// source answered; in that case it adds a note to Degraded. Call Done on the result.
func (c *Candidates) BehindEarlier(ctx context.Context, earlier *sources.Findings) *Candidates {
	if earlier == nil {
		return nil
	}
	findings := earlier.FindingsOf(&c.Plan.Inquiry)
	if err := earlier.CheckAnswered(findings); err != nil {
		c.Degraded = append(c.Degraded, reply.Missing{
			Source: reply.EarlierSource,
			Reason: "the question was asked without the messages before it: behind them no source answered in time",
		})
		return nil
	}
	behind := NewCandidates(c.Rules, c.Plan, earlier, findings)
	behind.EncodeReference(ctx)
	behind.others = foundBy(c.Findings)
	c.others = foundBy(behind.Findings)
	return behind
}

// foundBy returns the ordinals of all hits of the findings, ascending and without repetitions; empty and not nil if
// there are none.
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

// Topic is what a conversation is about: the document of the passage that answered the last message. The zero Topic
// means that nothing answered yet.
type Topic struct {
	Title string // the first mostTitle bytes of the passage's title, with its document's and its headings
	Group string // the key of its document (GroupOf); "": it has none
}

// Topic returns the topic of the answer's first passage. It returns before if there is no passage, or a verdict other
// than VerdictFound; an answer without a verdict counts as found. It fails, and returns before, if the passage cannot
// be read.
func (a *Answer) Topic(ctx context.Context, before Topic) (Topic, error) {
	if len(a.Rankings) == 0 || len(a.Rankings[0].Items) == 0 {
		return before, nil
	}
	r := &a.Rankings[0]
	if by := a.answerability(); r.Answerable != nil && by != nil && by.Of(*r.Answerable) != reply.VerdictFound {
		return before, nil
	}
	items, passages, err := a.Texts(ctx, r.Items[:1])
	if err != nil || len(passages) == 0 {
		return before, err
	}
	title := passages[0].Title
	topic := Topic{Title: strings.ToValidUTF8(title[:min(len(title), mostTitle)], "")}
	if _, _, ok := corpus.SplitPassageID(passages[0].ID); ok {
		topic.Group = documentKey(a.Found.View.CollectionOf(items[0].Ordinal), passages[0].ID)
	}
	return topic, nil
}

// AddEarlier adds to the score of each passage, times a weight (earlierWeight), how far its score in behind lies above
// the lowest one there, and more to passages of the document that the conversation is about. behind is the ranking of
// the question together with the messages before it. The confidence becomes that of the question whose ranking the
// first passage leads: of both, the higher one; of neither, the lower one (FollowsEarlier). r.Asked becomes the
// question whose confidence it is. Notes of behind.Degraded are added. It fails if the passages' ids cannot be read.
func (r *Ranking) AddEarlier(behind *Ranking, about Topic) error {
	weight := earlierWeight(r.Found.Inquiry.Question)
	for i := range r.Rankings {
		own := &r.Rankings[i]
		other := &behind.Rankings[i]
		if len(own.Items) == 0 || len(other.Items) == 0 {
			continue
		}
		alone := own.Items[0].Ordinal
		otherScores := make(map[rank.Ordinal]float64, len(other.Items))
		for _, item := range other.Items {
			otherScores[item.Ordinal] = item.Score
		}
		least := other.Items[len(other.Items)-1].Score
		areInTopic, err := r.areInTopic(own.Items, about)
		if err != nil {
			return err
		}
		spread := own.Items[0].Score - own.Items[min(spreadOver, len(own.Items))-1].Score
		for n := range own.Items {
			item := &own.Items[n]
			score := 0.0
			if above, ranked := otherScores[item.Ordinal]; ranked {
				score = above - least
			}
			if areInTopic[n] {
				score += sameDocument * spread
			}
			item.Score += weight * score
			r.Credit(i, item.Ordinal, reply.Contribution{
				Source:       reply.EarlierSource,
				Score:        run.Ptr(run.Printed(score)),
				Origin:       reply.OriginEarlier,
				Weight:       run.Printed(weight),
				Contribution: run.Printed(weight * score),
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
		own.Answerable = AnswerableBehind(own.Answerable, other.Answerable)
		first := own.Items[0].Ordinal
		if FollowsEarlier(first == alone, first == other.Items[0].Ordinal, own.Confidence, other.Confidence) {
			own.Confidence, own.Any = other.Confidence, other.Any
			if i == 0 {
				r.Asked = behind.Found.Inquiry.Question
			}
		}
	}
	for _, m := range behind.Degraded {
		if !slices.Contains(r.Degraded, m) {
			r.Degraded = append(r.Degraded, m)
		}
	}
	return nil
}

// areInTopic returns, for each item, whether its passage is from the document that the topic is about; all false for a
// topic without a document. It fails if ids cannot be read.
func (r *Ranking) areInTopic(items []fusion.Item, about Topic) ([]bool, error) {
	in := make([]bool, len(items))
	if about.Group == "" {
		return in, nil
	}
	ordinals := make([]rank.Ordinal, len(items))
	for i, item := range items {
		ordinals[i] = item.Ordinal
	}
	ids, err := r.Found.View.Passages().IDs(ordinals)
	if err != nil {
		return nil, fmt.Errorf("reading the ids of %d passages: %w", len(ordinals), err)
	}
	for i, id := range ids {
		in[i] = documentKey(r.Found.View.CollectionOf(ordinals[i]), id) == about.Group
	}
	return in, nil
}

// AnswerableBehind returns the chance that the collection answers the last message: the chance of the message alone,
// its log-odds raised by a share (earlierAnswerable) of those together with the messages before it (behind), if that
// chance is above one half. It returns alone if either is nil.
func AnswerableBehind(alone, behind *float64) *float64 {
	if alone == nil || behind == nil {
		return alone
	}
	odds := run.LogOdds(*alone) + earlierAnswerable*max(run.LogOdds(*behind), 0)
	return run.Ptr(1 / (1 + math.Exp(-odds)))
}

// FollowsEarlier reports whether the confidence of the question together with the messages before it (behind) counts,
// rather than that of the message alone. alone and behind say of each of the two questions whether its own ranking
// begins with the passage that is first now. confidence and behindConfidence are the confidences of alone and of
// behind; nil is lower than any.
//
//  1. If one of the two rankings begins with the passage, that question's confidence counts.
//  2. If both do, the higher confidence counts.
//  3. If neither does, the lower one counts.
func FollowsEarlier(alone, behind bool, confidence, behindConfidence *float64) bool {
	if alone != behind {
		return behind
	}
	own, other := math.Inf(-1), math.Inf(-1)
	if confidence != nil {
		own = *confidence
	}
	if behindConfidence != nil {
		other = *behindConfidence
	}
	if alone {
		return other > own
	}
	return other < own
}

// A message of a conversation may depend on those before it ("and for children?"), so it is asked twice: by itself, and
// with the title of the conversation's topic. A passage's score is the sum of both fused scores, the second times
// earlierWeight, with an addition for the topic's document. Messages of many words weigh the second less: they are more
// often about something new (docs/evidence/trials.md).
const (
	earlierMost = .7 // the greatest weight of the second score
	// sameDocument is what the document of the conversation adds, as a share of how far the first spreadOver passages
	// of the message by itself lie apart.
	sameDocument = .7
	spreadOver   = 50

	mostTitle = 256 // bytes of a title that say what a conversation is about

	// earlierAnswerable is how much the log-odds behind the earlier messages count beside the
	// message's own for whether the collection answers it.
	earlierAnswerable = .2
)
