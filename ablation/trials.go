package ablation

import (
	"context"
	"slices"

	"conclave/calibration"
	"conclave/fusion"
)

// Options say which sources play a part of their own, and what to try.
type Options struct {
	// Base is the encoder that people would use in place of the experts; Joint
	// the one that was trained on all domains at once: a yardstick, and in one
	// trial a source of the gate. Either may be missing.
	Base, Joint string
	// Foreign are experts whose domains' questions are left out, to see what
	// experts do that nobody needs.
	Foreign []string
	// HeldOut are experts with a domain of the same name, to see what one that
	// joins brings, with a gate that has seen neither it nor its questions.
	HeldOut []string
	// Only are the names of the trials to make (Trials); none: all. The
	// yardsticks are always there.
	Only []string
	// Progress is told of every trial.
	Progress func(done, total int)
}

// Report is what was found.
type Report struct {
	Questions int `json:"questions"`
	// Yardsticks begins with the gate over all sources but the joint expert.
	Yardsticks []Row `json:"yardsticks"`
	// Without is the gate without one source at a time.
	Without []Row `json:"without"`
	// Familiar is the gate over the most familiar specialists of each question,
	// beside all other sources.
	Familiar []Row     `json:"familiar"`
	Foreign  *Foreign  `json:"foreign,omitempty"`
	HeldOut  []HeldOut `json:"held_out,omitempty"`
}

// Foreign is what experts of other domains cost: each pair is without them and
// with them. The gate was fitted without them in both.
type Foreign struct {
	Experts   []string `json:"experts"`
	Questions int      `json:"questions"`
	Gate      [2]Row   `json:"gate"`
	// Fixed is the mean of the experts with the best fixed weight of BM25.
	Fixed [2]Row `json:"fixed"`
	// Mean is the mean of the experts without BM25.
	Mean [2]Row `json:"mean"`
}

// HeldOut is what an expert brings that joins: without it, and with it.
type HeldOut struct {
	Expert string `json:"expert"`
	Own    [2]Row `json:"own"`    // the questions of its domain
	Others [2]Row `json:"others"` // all others
}

// run is a Report in the making.
type run struct {
	whole *Evidence
	e     *Evidence // without the joint expert
	o     Options
	done  int
	total int
}

// Run makes all trials. It takes a cross-fitted gate for each, minutes in all.
func Run(ctx context.Context, e *Evidence, o Options) (*Report, error) {
	own, err := e.Among(e.But(o.Joint), nil)
	if err != nil {
		return nil, err
	}
	own.Sources = slices.DeleteFunc(slices.Clone(e.Sources), func(name string) bool { return name == o.Joint })
	t := run{whole: e, e: own, o: o}
	e = own
	specialists := t.specialists()
	t.total = 7 + len(e.Sources) + len(familiarCounts(len(specialists))) + len(o.Foreign) + len(o.HeldOut)
	r := &Report{Questions: len(e.Questions)}
	for i, step := range []func(context.Context, *Report) error{t.yardsticks, t.without, t.familiar, t.foreign, t.heldOut} {
		if i > 0 && len(o.Only) > 0 && !slices.Contains(o.Only, Trials()[i]) {
			continue
		}
		if err := step(ctx, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Trials are the names of what can be tried.
func Trials() []string { return []string{"yardsticks", "without", "familiar", "foreign", "held-out"} }

func (t *run) step() {
	t.done++
	if t.o.Progress != nil {
		t.o.Progress(min(t.done, t.total), t.total)
	}
}

// specialists are the names of the experts with a domain.
func (t *run) specialists() []string {
	var out []string
	for _, s := range t.e.Questions[0].Sources {
		if s.Kind == fusion.Specialist {
			out = append(out, t.e.Sources[s.Column])
		}
	}
	return out
}

// word is the name of BM25 among the sources; "" without it.
func (t *run) word() string {
	for _, s := range t.e.Questions[0].Sources {
		if s.Kind == fusion.Lexical {
			return t.e.Sources[s.Column]
		}
	}
	return ""
}

func (t *run) has(name string) bool { return name != "" && slices.Contains(t.whole.Sources, name) }

// yardsticks compares the gate with what people use.
func (t *run) yardsticks(ctx context.Context, r *Report) error {
	answers, err := t.e.CrossFitted(ctx)
	if err != nil {
		return err
	}
	t.step()
	r.Yardsticks = append(r.Yardsticks, t.e.row("gate", answers))
	if t.has(t.o.Joint) {
		answers, err := t.whole.CrossFitted(ctx)
		if err != nil {
			return err
		}
		t.step()
		t.compare(r, t.whole.row("gate with "+t.o.Joint+" among the sources", answers))
	}
	word := t.word()
	if t.has(t.o.Base) && word != "" {
		pair, err := t.e.Among(t.e.These(t.o.Base, word), nil)
		if err != nil {
			return err
		}
		if answers, err = pair.RRF(); err != nil {
			return err
		}
		t.step()
		t.compare(r, pair.row(t.o.Base+" and words, RRF", answers))
	}
	for _, y := range []struct {
		name   string
		choose func(q *calibration.GateQuestion) []fusion.Observed
		there  bool
	}{
		{t.o.Base + " and words, best fixed weight", t.whole.These(t.o.Base, word), t.has(t.o.Base)},
		{t.o.Joint + " and words, best fixed weight", t.whole.These(t.o.Joint, word), t.has(t.o.Joint)},
		{"mean of specialists and words, best fixed weight", t.whole.These(append(t.specialists(), word)...), true},
		{"mean of specialists, base and words, best fixed weight", t.whole.But(t.o.Joint), true},
	} {
		if !y.there {
			continue
		}
		row, err := t.fixed(ctx, y.name, y.choose)
		if err != nil {
			return err
		}
		t.compare(r, row)
	}
	return nil
}

// compare adds a row with its p-values to the yardsticks.
func (t *run) compare(r *Report, row Row) {
	row.against(&r.Yardsticks[0])
	r.Yardsticks = append(r.Yardsticks, row)
}

func (t *run) fixed(ctx context.Context, name string, choose func(q *calibration.GateQuestion) []fusion.Observed) (Row, error) {
	some, err := t.whole.Among(choose, nil)
	if err != nil {
		return Row{}, err
	}
	weight, answers, err := some.Fixed(ctx)
	if err != nil {
		return Row{}, err
	}
	t.step()
	row := some.row(name, answers)
	row.Weight = &weight
	return row, nil
}
