package evaluation

import (
	"context"
	"testing"
)

// TestConfidencesOfTheMixture: how far a fitted confidence is right is told where three quarters of the weight
// are of questions with an answer, summed by hand: five, the same with their passages taken out, and one that nothing
// answers, which counts as one.
func TestConfidencesOfTheMixture(t *testing.T) {
	s := scripted()
	for question, sure := range map[string][2]string{
		"q1": {"P n1 n2 n3|.9", "n1 n2 n3 n4|.2"},
		"q2": {"P n1 n2 n3|.9", "n1 n2 n3 n4|.2"},
		"q3": {"G n1 n2 n3|.9", "n1 n2 n3 n4|.9"},
		"q4": {"n1 P n2 n3|.5", "n1 n2 n3 n4|.2"},
		"q5": {"n1 P n2 n3|.5", "n1 n2 n3 n4|.2"},
	} {
		s.answers[question]["rrf"], s.answers[question]["rrf without"] = sure[0], sure[1]
	}
	domains := scriptedDomains()
	without := domains[0].Questions[0]
	without.ID, without.Text, without.PositiveIDs, without.Unanswerable = "6", "q6", nil, true
	s.answers["q6"] = map[string]string{
		"x": "n1 n2 n3 n4|.3", "y": "n1 n2 n3 n4|.7", "bm25": "n1 n2 n3 n4", "rrf": "n1 n2 n3 n4|.2",
	}
	domains[0].Questions = append(domains[0].Questions, without)
	r, err := Evaluate(context.Background(), s, domains, MeasureOptions{Methods: scriptedMethods(), Depth: 4})
	if err != nil {
		t.Fatal(err)
	}
	values := r.row(t, "all questions", "rrf").Values
	// Those without an answer weigh 5/3: the unanswerable question 1, and the five taken out 2/15 each. In the bin of .9
	// are three right and 2/15 wrong, in that of .5 two wrong, in that of .2 four of 2/15 and one of 1, all wrong.
	const each, all = 2. / 15, 5. / 3
	gap := abs(3-.9*(3+each)) + .5*2 + .2*(4*each+1)
	near(t, "ECE", values["ece"], gap/(5+all))
	// Of 3 right at .9 against 2 and 5/3 of wrong: each of these has .9 too, and counts half.
	near(t, "AUROC", values["auroc"], (3*(2+all-each)+3*each/2)/(3*(2+all)))
	near(t, "top-1 of the surest half", values["surest_half"], 1)
	near(t, "top1", values["top1"], 3./5)
}

func abs(x float64) float64 { return max(x, -x) }
