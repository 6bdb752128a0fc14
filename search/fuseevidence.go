package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
)

// fuseTable is the candidates of a FuseRequest as a table of scores: a row for each candidate, a column for each
// source.
type fuseTable struct {
	sources    []string                // names, by column
	kinds      []fusion.SourceKind     // by column
	candidates []*Candidate            // by row, in the order of their ids, in which equal scores rank
	scores     [][]fusion.StoredScore  // by row and column
	observed   []fusion.ObservedSource // of the sources that the method uses
	weights    map[int]float64         // by column: from the request, or else from the contributions if needed
}

// hasNoSource reports whether a contribution with this origin was not made by a source: a reader, a reranker, a boost
// or the earlier messages made it.
func hasNoSource(origin string) bool {
	return origin == reply.OriginRead || origin == reply.OriginRerank || origin == reply.OriginEarlier ||
		origin == reply.OriginBoost
}

// fuseTableOf returns the table of a request's candidates. It adds a problem to wrong for each candidate or
// contribution that is invalid. After too many sources or problems it stops, and the table is incomplete.
func fuseTableOf(r *FuseRequest, wrong *fault.Problems) *fuseTable {
	e := &fuseTable{}
	columns := map[string]int{}
	order := make([]int, len(r.Candidates))
	for i := range r.Candidates {
		order[i] = i
		for n := range r.Candidates[i].Contributions {
			given := &r.Candidates[i].Contributions[n]
			if hasNoSource(given.Origin) {
				continue
			}
			column, known := columns[given.Source]
			if !known {
				column = len(e.sources)
				columns[given.Source] = column
				e.sources, e.kinds = append(e.sources, given.Source), append(e.kinds, kindNamed(given.Source))
			}
			if given.Origin == fusion.FromScored.String() && e.kinds[column] == fusion.Generalist {
				e.kinds[column] = fusion.Late
			}
		}
	}
	if len(e.sources) > fusion.MaxSources {
		wrong.Add(
			"out_of_range", "/candidates", "the candidates have %d sources: at most %d are possible", len(e.sources),
			fusion.MaxSources,
		)
		return e
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(r.Candidates[a].ID, r.Candidates[b].ID) })
	e.scores = make([][]fusion.StoredScore, len(order))
	ranked := make([]map[int]bool, len(e.sources))
	for row, at := range order {
		candidate := &r.Candidates[at]
		pointer := wording.Pointer("/candidates", at)
		if row > 0 && e.candidates[row-1].ID == candidate.ID {
			wrong.Add(
				"duplicate_id", pointer+"/id", "passage %s is among the candidates twice", wording.Quote(candidate.ID),
			)
		}
		e.candidates = append(e.candidates, candidate)
		e.scores[row] = make([]fusion.StoredScore, len(e.sources))
		for n := range candidate.Contributions {
			given := &candidate.Contributions[n]
			if hasNoSource(given.Origin) {
				continue
			}
			column := columns[given.Source]
			score, problem := given.restore()
			switch {
			case problem != "":
			case e.scores[row][column].Origin != fusion.FromNone:
				problem = "source " + wording.Quote(given.Source) + " scored the passage already"
			case score.Rank > 0 && ranked[column][score.Rank]:
				problem = fmt.Sprintf(
					"source %s has another passage at rank %d", wording.Quote(given.Source), score.Rank,
				)
			}
			if problem != "" {
				wrong.Add("out_of_range", fmt.Sprintf("%s/contributions/%d", pointer, n), "%s", problem)
			}
			if score.Rank > 0 {
				if ranked[column] == nil {
					ranked[column] = map[int]bool{}
				}
				ranked[column][score.Rank] = true
			}
			e.scores[row][column] = score
		}
		if len(*wrong) > fault.MaxProblems {
			return e
		}
	}
	e.checkHitOrder(wrong)
	return e
}

// checkHitOrder adds a problem to wrong if the hits of a source, in the order of their ranks, are not in descending
// order of their scores.
func (e *fuseTable) checkHitOrder(wrong *fault.Problems) {
	for column, name := range e.sources {
		var hits []fusion.StoredScore
		for _, said := range e.scores {
			if said[column].Origin == fusion.FromHit {
				hits = append(hits, said[column])
			}
		}
		slices.SortFunc(hits, func(a, b fusion.StoredScore) int { return cmp.Compare(a.Rank, b.Rank) })
		for i := 1; i < len(hits); i++ {
			if hits[i].Score > hits[i-1].Score {
				wrong.Add("out_of_range", "/candidates", "source %s has a score of %v at rank %d, above %v at rank %d",
					wording.Quote(name), hits[i].Score, hits[i].Rank, hits[i-1].Score, hits[i-1].Rank)
				break
			}
		}
	}
}

// kindNamed returns the kind of the source with a name: BM25 over words or phrases, nearness, otherwise an expert's.
func kindNamed(source string) fusion.SourceKind {
	switch source {
	case reply.WordSource:
		return fusion.Lexical
	case reply.PhraseSource:
		return fusion.Phrases
	case reply.NearSource:
		return fusion.Near
	}
	return fusion.Generalist
}

// restore returns the score as fusion needs it. A score that a method had filled in counts as missing, so that the
// method fills it in again. problem says for users what is invalid; "": nothing is.
func (v *SourceScore) restore() (score fusion.StoredScore, problem string) {
	if v.Score == nil || v.Origin == fusion.FromMin.String() || v.Origin == fusion.FromNone.String() {
		if v.Rank != nil {
			return score, "has a rank without a score of the source's own"
		}
		return score, ""
	}
	score.Score = float32(*v.Score)
	if x := float64(score.Score); math.IsNaN(x) || math.Abs(x) > fusion.MaxWeight {
		return fusion.StoredScore{}, fmt.Sprintf(
			"has a score of %v: it has to be between -%g and %[2]g", *v.Score, float64(fusion.MaxWeight),
		)
	}
	switch origin := fusion.Origins()[v.Origin]; {
	case v.Rank != nil:
		score.Origin = fusion.FromHit
		score.Rank = *v.Rank
		if *v.Rank < 1 || *v.Rank > math.MaxInt32 {
			return fusion.StoredScore{}, fmt.Sprintf("has rank %d: ranks are counted from 1", *v.Rank)
		}
	case v.Origin == "":
		score.Origin = fusion.FromExact
	case origin == fusion.FromHit:
		return fusion.StoredScore{}, `is a hit without a rank`
	case origin == fusion.FromNone:
		return fusion.StoredScore{}, fmt.Sprintf("has the origin %s, which does not exist", wording.Quote(v.Origin))
	default:
		score.Origin = origin
	}
	return score, ""
}
