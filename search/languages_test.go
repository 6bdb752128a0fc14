package search

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// german is a question in German; the passages of a stage are in English.
const german = "wo ist der green bird und wie sleeps er"

// statuses returns the status of each source of a response, by its name.
func statuses(r reply.Response) map[string]string {
	out := map[string]string{}
	for _, s := range r.Sources {
		out[s.Name] = string(s.Status)
	}
	return out
}

// TestSourcesByLanguage: a question is asked of the experts that read its language, and says of the others that they do
// not; a request that names experts is asked of these. An English question is asked of all.
func TestSourcesByLanguage(t *testing.T) {
	s, _, _ := lateStage()
	english := learned.Languages{"en"}
	s.config.Late[0].Languages = english
	for i := range s.config.Experts {
		s.config.Experts[i].Languages = english
	}
	many := &s.config.Experts[len(s.config.Experts)-1]
	many.Languages, many.Foreign = nil, true
	one := s.config.Experts[0].Name
	r := s.ask(t, Request{Question: german, Fusion: methodsOf(fusion.MethodGate)})
	got := statuses(r)
	if got[many.Name] != string(reply.StatusOK) || got[one] != string(reply.StatusSkipped) ||
		got[s.config.Late[0].Name] != string(reply.StatusSkipped) || len(r.Degraded) > 0 {
		t.Errorf("German: %v, degraded %v", got, r.Degraded)
	}
	for _, x := range r.Sources {
		if x.Name == one && !strings.Contains(x.Reason, "German") {
			t.Errorf("the reason of %s is %q", one, x.Reason)
		}
	}
	for name, r := range map[string]reply.Response{
		"English": s.ask(t, Request{Question: "where is the green bird", Fusion: methodsOf(fusion.MethodGate)}),
		"named": s.ask(t, Request{
			Question: german, Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{one, many.Name},
		}),
		"none reads": unreadStage().ask(t, Request{Question: german, Fusion: methodsOf(fusion.MethodGate)}),
		"none, named": unreadStage().ask(t, Request{
			Question: german, Experts: &[]string{one}, Fusion: methodsOf(fusion.MethodRRF),
		}),
	} {
		if got := statuses(r)[one]; got != string(reply.StatusOK) {
			t.Errorf("%s: %s is %q", name, one, got)
		}
	}
}

// unreadStage returns a stage with late interaction whose models read English alone, and whose verdict is "found".
func unreadStage() *stage {
	s, _, _ := lateStage()
	s.config.Late[0].Languages = learned.Languages{"en"}
	for i := range s.config.Experts {
		s.config.Experts[i].Languages = learned.Languages{"en"}
	}
	s.config.Defaults.Answerability = &learned.Answerability{
		Chance: &doubted{confidence: .9}, Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
	}
	return s
}

// TestUnreadLanguageIsDoubtful: where no expert reads the question's language, the verdict is doubtful at most and a
// note says why; a reader of another language marks nothing, and a reranker has no part.
func TestUnreadLanguageIsDoubtful(t *testing.T) {
	s := unreadStage()
	asked := Request{Question: "where is the green bird and how does it sleep", Fusion: methodsOf(fusion.MethodGate), K: 5}
	if r := s.ask(t, asked); r.Verdict != reply.VerdictFound || len(r.Notes) > 0 {
		t.Errorf("English: %q, notes %q", r.Verdict, r.Notes)
	}
	asked.Question = german
	r := s.ask(t, asked)
	if r.Verdict != reply.VerdictDoubtful || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "does not read German") {
		t.Errorf("German: %q, notes %q", r.Verdict, r.Notes)
	}
	judged := new(judge)
	s.config.Rerankers = []learned.LoadedReranker{{Reranker: judged, Name: "judge", Languages: learned.Languages{"en"}}}
	s.config.Readers = []learned.LoadedReader{{Reader: new(marker), Name: "marker", Languages: learned.Languages{"en"}}}
	asked.Rerank = ask.RerankOptions{Asked: true, Wanted: true}
	asked.Answer = wanted(ask.AnswerOptions{})
	if r := s.ask(t, asked); len(judged.scored) > 0 || len(r.Answers) > 0 || len(r.Notes) != 3 {
		t.Errorf("%d passages were reranked, %d answers, notes %q", len(judged.scored), len(r.Answers), r.Notes)
	}
}

// TestUnreadPassagesAreDoubtful: where no expert reads the passages, the verdict is doubtful at most, also of a
// question that is too short to tell its language, and of one in the experts' language.
func TestUnreadPassagesAreDoubtful(t *testing.T) {
	s := unreadStage()
	for i := range s.library.shelf.passages {
		s.library.shelf.passages[i].Text += ". Der Vogel ist grün und schläft, und die Katze läuft durch den Garten zu ihm."
	}
	for _, question := range []string{"kratzt die Katze", "green bird", "where is the green bird and how does it sleep"} {
		r := s.ask(t, Request{Question: question, Fusion: methodsOf(fusion.MethodGate), K: 5})
		if r.Verdict != reply.VerdictDoubtful || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "does not read German") {
			t.Errorf("%q: %q, notes %q", question, r.Verdict, r.Notes)
		}
	}
}

// TestUnreadPassagesAreNotRead: in a collection in two languages a reader of one marks words in the passages in that
// one alone and changes neither order nor confidence, and a reranker of it has no part, unless all passages that it
// would read are in its language.
func TestUnreadPassagesAreNotRead(t *testing.T) {
	const (
		german  = ". Der Vogel ist grün und schläft, und die cat läuft durch den Garten zu ihm und sieht ihn."
		english = ". The bird is green and it sleeps, and the cat is running to it through the garden."
	)
	for _, mixed := range []bool{false, true} {
		s := unreadStage()
		inGerman := map[string]bool{}
		for i := range s.library.shelf.passages {
			p := &s.library.shelf.passages[i]
			if mixed && i%2 == 0 {
				p.Text += german
				inGerman[p.ID] = true
			} else {
				p.Text += english
			}
		}
		asked := Request{
			Question: "where is the green bird and how does it sleep", Fusion: methodsOf(fusion.MethodGate), K: 10,
		}
		before := s.ask(t, asked)
		judged, reader := new(judge), new(marker)
		only := learned.Languages{"en"}
		s.config.Rerankers = []learned.LoadedReranker{{Reranker: judged, Name: "judge", Languages: only}}
		s.config.Readers = []learned.LoadedReader{{Reader: reader, Name: "marker", Languages: only, Ranking: 1}}
		asked.Answer = wanted(ask.AnswerOptions{Passages: 10, MinChance: new(float64)})
		r := s.ask(t, asked)
		unread := slices.ContainsFunc(reader.read, func(id string) bool { return inGerman[id] })
		if len(r.Answers) == 0 || unread || (len(reader.read) < 10) != mixed {
			t.Errorf("mixed %t: %d answers, %q were read", mixed, len(r.Answers), reader.read)
		}
		for _, x := range r.Answers {
			if inGerman[x.Passage] {
				t.Errorf("words of the German passage %s are marked", x.Passage)
			}
		}
		if mixed && !slices.Equal(ids(before.Results), ids(r.Results)) {
			t.Errorf("the reader of some passages changed their order: %q, before %q", ids(r.Results), ids(before.Results))
		}
		asked.Answer = ask.AnswerOptions{}
		asked.Rerank = ask.RerankOptions{Asked: true, Wanted: true}
		r = s.ask(t, asked)
		if (len(judged.scored) == 0) != mixed || (len(r.Notes) == 1) != mixed {
			t.Errorf("mixed %t: %d passages were reranked, notes %q", mixed, len(judged.scored), r.Notes)
		}
	}
}

// TestVerdictOfForeignSources: where an encoder of its own is the only dense source, the verdict and the confidence are
// those that were fitted for it; where late interaction takes part, those of the default.
func TestVerdictOfForeignSources(t *testing.T) {
	s, _, _ := lateStage()
	s.config.Late[0].Languages = learned.Languages{"en"}
	for i := range s.config.Experts {
		s.config.Experts[i].Languages = learned.Languages{"en"}
	}
	many := &s.config.Experts[len(s.config.Experts)-1]
	many.Languages, many.Foreign, many.Representatives = nil, true, nil
	s.config.Defaults.ChancesBasis = reply.BasisShipped
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	s.config.Defaults.Answerability = &learned.Answerability{
		Chance: &doubted{confidence: .9}, Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
	}
	s.config.Defaults.Foreign = &learned.ForeignFits{
		Chances: &sure{first: .2, any: .3}, ChancesBasis: reply.BasisShipped,
		Answerability: learned.Answerability{
			Chance: &doubted{confidence: .5}, Thresholds: reply.Thresholds{Found: .6, Doubtful: .2},
		},
	}
	r := s.ask(t, Request{Question: german, Fusion: methodsOf(fusion.MethodGate)})
	if r.Verdict != "" || r.Confidence != nil {
		t.Errorf("German to passages in no language that is known: %q, confidence %v", r.Verdict, r.Confidence)
	}
	before := slices.Clone(s.library.shelf.passages)
	for i := range s.library.shelf.passages {
		s.library.shelf.passages[i].Text += ". The bird is green and sleeps, and the cat is running to it through the garden."
	}
	r = s.ask(t, Request{Question: german, Fusion: methodsOf(fusion.MethodGate)})
	if r.Verdict != reply.VerdictDoubtful || r.Answerable != nil || r.Confidence != nil ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "fitted to questions in German about passages in English") {
		t.Errorf("German to English passages: %q, confidence %v, notes %q", r.Verdict, r.Confidence, r.Notes)
	}
	s.library.shelf.passages = before
	r = s.ask(t, Request{Question: "where is the green bird", Fusion: methodsOf(fusion.MethodGate)})
	if r.Verdict != reply.VerdictFound || *r.Answerable != .9 || *r.Confidence != .4 {
		t.Errorf("English: %q by %+v, confidence %v", r.Verdict, r.Judged, *r.Confidence)
	}
	for i := range s.library.shelf.passages {
		s.library.shelf.passages[i].Text += ". Der Vogel ist grün und schläft, und die Katze läuft durch den Garten zu ihm."
	}
	r = s.ask(t, Request{Question: german, Fusion: methodsOf(fusion.MethodGate)})
	if r.Verdict != reply.VerdictDoubtful || r.Answerable == nil || *r.Answerable != .5 ||
		*r.Thresholds != s.config.Defaults.Foreign.Answerability.Thresholds || *r.Confidence != .2 ||
		r.Basis != reply.BasisShipped {
		t.Errorf("German: %q by %+v, confidence %v, basis %q", r.Verdict, r.Judged, r.Confidence, r.Basis)
	}
	for i := range s.library.shelf.passages {
		s.library.shelf.passages[i].Text = "绿色的鸟在花园里睡觉，猫穿过花园向它跑去，天气很好，大家都很高兴。"
	}
	const chinese = "绿色的鸟在哪里睡觉？"
	r = s.ask(t, Request{Question: chinese, Fusion: methodsOf(fusion.MethodGate)})
	if r.Verdict != reply.VerdictDoubtful || r.Answerable != nil ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "nothing was fitted to questions in Chinese") {
		t.Errorf("Chinese, without a fit: %q by %+v, notes %q", r.Verdict, r.Judged, r.Notes)
	}
	s.config.Late[0].Languages = nil
	s.config.Late[0].Foreign = true
	s.config.Defaults.Foreign.Late = true
	r = s.ask(t, Request{Question: chinese, Fusion: methodsOf(fusion.MethodGate)})
	if got := statuses(r)[s.config.Late[0].Name]; got != string(reply.StatusOK) || !strings.Contains(
		strings.Join(r.Notes, "\n"), "nothing was fitted to questions in Chinese") {
		t.Errorf("with late interaction for all languages, which is %q: notes %q", got, r.Notes)
	}
	s.config.Late[0].Languages = learned.Languages{"en"}
	s.config.Late[0].Foreign = false
	s.config.Defaults.Foreign.Late = false
	if r := s.ask(t, Request{Question: chinese, Fusion: methodsOf("rrf")}); r.Verdict != "" {
		t.Errorf("by a method without verdicts: %q", r.Verdict)
	}
	s.config.Defaults.Foreign.Unspaced = map[string]*learned.Answerability{
		"zh": {Chance: &doubted{confidence: .7}, Thresholds: reply.Thresholds{Found: .6, Doubtful: .2}},
	}
	r = s.ask(t, Request{Question: chinese, Fusion: methodsOf(fusion.MethodGate)})
	if r.Verdict != reply.VerdictFound || *r.Answerable != .7 {
		t.Errorf("Chinese: %q by %+v", r.Verdict, r.Judged)
	}
}

// TestLateByLanguage: of two sources of late interaction the one takes part that reads the question and belongs to the
// encoder that answers, and the confidence and the verdict are those fitted with it. Requests that name experts have
// that of these experts, also where they are compared, and a calibration has one.
func TestLateByLanguage(t *testing.T) {
	s, _, _ := lateStage()
	english := learned.Languages{"en"}
	for i := range s.config.Experts {
		s.config.Experts[i].Languages = english
	}
	many := &s.config.Experts[len(s.config.Experts)-1]
	many.Languages, many.Foreign, many.Representatives = nil, true, nil
	s.config.Late[0].Languages = english
	foreign := s.config.Late[0]
	foreign.Name, foreign.Languages, foreign.Foreign = "many-tokens", nil, true
	s.config.Late = append(s.config.Late, foreign)
	s.library.shelf.vectors[foreign.Name] = s.library.shelf.vectors["tokens"]
	for i := range s.library.shelf.passages {
		text := &s.library.shelf.passages[i].Text
		*text += ". The bird is green and sleeps, and the cat is running to it through the garden."
		if i%2 > 0 {
			*text += ". Der Vogel ist grün und schläft, und die Katze läuft durch den Garten zu ihm."
		}
	}
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	s.config.Defaults.Answerability = &learned.Answerability{
		Chance: &doubted{confidence: .9}, Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
	}
	s.config.Defaults.Foreign = &learned.ForeignFits{
		Late: true, Chances: &sure{first: .2, any: .3}, ChancesBasis: reply.BasisShipped,
		Answerability: learned.Answerability{
			Chance: &doubted{confidence: .8}, Thresholds: reply.Thresholds{Found: .6, Doubtful: .2},
		},
	}
	const asked = "where is the green bird and how does it sleep"
	gate := methodsOf(fusion.MethodGate)
	for name, c := range map[string]struct {
		request    Request
		late       string
		answerable float64 // 0: the chance is lower than what was fitted says, since no expert reads the question
	}{
		"English":       {Request{Question: asked, Fusion: gate}, "tokens", .9},
		"German":        {Request{Question: german, Fusion: gate}, "many-tokens", .8},
		"English, many": {Request{Question: asked, Fusion: gate, Experts: &[]string{many.Name}}, "many-tokens", .8},
		"German, base":  {Request{Question: german, Fusion: gate, Experts: &[]string{s.config.Experts[0].Name}}, "tokens", 0},
	} {
		alone := s.ask(t, c.request)
		words := c.request
		words.Experts = &[]string{s.config.Experts[1].Name}
		compared, err := s.engine(t).Compare(t.Context(), []Request{words, c.request})
		if err != nil {
			t.Fatal(err)
		}
		for how, r := range map[string]reply.Response{"alone": alone, "compared": compared[1]} {
			other := sourceOf(r, map[string]string{"tokens": "many-tokens", "many-tokens": "tokens"}[c.late])
			if late := sourceOf(r, c.late); late.Status != reply.StatusOK || other.Status != reply.StatusSkipped ||
				other.Reason == "" || len(r.Degraded) > 0 {
				t.Errorf("%s, %s: %s is %q, and %s %q: %q", name, how, c.late, late.Status, other.Name, other.Status, other.Reason)
			}
			if (r.Verdict == reply.VerdictFound) != (c.answerable > 0) || r.Answerable == nil ||
				c.answerable > 0 && *r.Answerable != c.answerable {
				t.Errorf("%s, %s: %q by %+v, notes %q", name, how, r.Verdict, r.Judged, r.Notes)
			}
		}
	}
	evidence, err := s.engine(t).Gather(t.Context(), Request{Question: german}, 5)
	var late []string
	for _, x := range evidence.Sources {
		if x.Kind == fusion.Late {
			late = append(late, x.Name)
		}
	}
	if err != nil || !slices.Equal(late, []string{"tokens"}) {
		t.Errorf("gathered: %q, %v", late, err)
	}
}

// TestForeignFitsChangeNoOtherAnswer: where the experts for English answer, alone or beside one for many languages,
// results, confidence and verdict are the same whatever was fitted for that one alone.
func TestForeignFitsChangeNoOtherAnswer(t *testing.T) {
	for _, beside := range []bool{false, true} {
		answers := func(foreign *learned.ForeignFits) (all []reply.Response) {
			s, _, _ := lateStage()
			s.config.Late[0].Languages = learned.Languages{"en"}
			for i := range s.config.Experts {
				s.config.Experts[i].Languages = learned.Languages{"en"}
			}
			if beside {
				many := &s.config.Experts[len(s.config.Experts)-1]
				many.Languages, many.Foreign, many.Representatives = nil, true, nil
			}
			for i := range s.library.shelf.passages {
				s.library.shelf.passages[i].Text += ". The bird is green and sleeps, and the cat is running to it."
			}
			s.config.Defaults.ChancesBasis = reply.BasisShipped
			s.config.Defaults.Chances = &sure{first: .4, any: .7}
			s.config.Defaults.Answerability = &learned.Answerability{
				Chance: &doubted{confidence: .9}, Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
			}
			s.config.Defaults.Foreign = foreign
			for _, question := range []string{"where is the green bird", "bird", "how does the cat run to it"} {
				r := s.ask(t, Request{Question: question, Fusion: methodsOf(fusion.MethodGate)})
				r.RequestID, r.TookMS, r.Sources = "", 0, nil
				all = append(all, r)
			}
			return all
		}
		want := answers(nil)
		for _, late := range []bool{false, true} {
			got := answers(&learned.ForeignFits{
				Late: late, Chances: &sure{first: .2, any: .3}, ChancesBasis: reply.BasisShipped,
				Answerability: learned.Answerability{
					Chance: &doubted{confidence: .5}, Thresholds: reply.Thresholds{Found: .6, Doubtful: .2},
				},
			})
			if !reflect.DeepEqual(got, want) || want[0].Verdict != reply.VerdictFound {
				t.Errorf("beside another %t, fitted with late interaction %t: %+v, want %+v", beside, late, got, want)
			}
		}
	}
}

// TestCompounds: a German question finds passages with the parts of its compounds by words; a question in another
// language does not.
func TestCompounds(t *testing.T) {
	s, _, _ := lateStage()
	for i := range s.config.Experts {
		s.config.Experts[i].Languages = learned.Languages{"en"}
	}
	s.config.Late[0].Languages = learned.Languages{"en"}
	found := func(question string) int {
		r := s.ask(t, Request{Question: question, Fusion: methodsOf(fusion.MethodGate)})
		at := slices.IndexFunc(r.Sources, func(x reply.Source) bool { return x.Name == reply.WordSource })
		return r.Sources[at].Hits
	}
	if n := found("wo ist der greenbird und wie"); n == 0 {
		t.Error("no passage has a part of the compound")
	}
	if n := found("where is greenbird"); n != 0 {
		t.Errorf("the English word finds %d passages", n)
	}
}
