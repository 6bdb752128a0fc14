package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	shipped "conclave/experts"
	"conclave/serving"
)

// sayCosts says what encoding takes, with the experts that were chosen and, for a new
// collection, with those that --experts could have named.
func (x *indexing) sayCosts(estimate serving.Estimate, experts []*serving.Expert, err error, isNew bool, bar *progress) {
	if err != nil {
		bar.Say("what encoding takes cannot be measured: %v", err)
		return
	}
	type choice struct {
		name string
		serving.Shape
	}
	var choices []choice
	mine := choice{"these experts", serving.ShapeOf(experts)}
	if x.addExpert != "" {
		mine.name = "--add-expert " + x.addExpert
	}
	if isNew {
		var names []string
		for _, e := range experts {
			names = append(names, e.Name())
		}
		all := len(shipped.All()) - 1 // late shares the base's pass
		choices = []choice{
			{"--experts none", serving.Shape{}},
			{"--experts " + shipped.ChooseDefault, serving.Shape{Passes: 1, Dense: 1, Late: 1}},
			{"--experts " + shipped.ChooseAll, serving.Shape{Passes: all, Dense: all, Late: 1}},
		}
		mine.name = "--experts " + strings.Join(names, ",") + " (chosen)"
		if at := slices.IndexFunc([][]string{nil, shipped.Default(), shipped.All()}, func(n []string) bool { return sameNames(n, names) }); at >= 0 {
			mine.name = choices[at].name + " (chosen)"
			choices[at] = mine
		} else {
			choices = append(choices, mine)
		}
	} else {
		choices = []choice{mine}
	}
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "%s, about:\n", plural(estimate.Passages, "passage"))
	for _, c := range choices {
		took, bytes := estimate.Of(c.Shape)
		_, _ = fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", c.name, plural(int64(c.Passes), "pass"), roughly(took, c.Passes), count(bytes, "bytes"))
	}
	_ = t.Flush()
	bar.Say("%s", strings.TrimSuffix(out.String(), "\n"))
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// roughly is the time of some passes to one figure or two: "40 s", "12 min", "3.5 h".
// It is empty where none was measured.
func roughly(d time.Duration, passes int) string {
	switch {
	case passes == 0:
		return "no time"
	case d == 0:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", max(1, d.Seconds()))
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
