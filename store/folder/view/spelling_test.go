package view

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// reading is hashed with the words of a language.
type reading struct{ hashed }

func (reading) WholeWords() []string {
	return strings.Fields(
		"the of and to in is you that it he was for on are with as his they at be this from have or by one had not but what all were when we there can an your which their said if do will each about how up out them then she many some so these would other into has more her two like him see time could no make than first been its who now people my made over did down only way find use may long little very after words called just where most know get through back much before go good new write our used me man too any day same right look think also around another came come work three word must because does part even place well such here take why things help put years different away again off went old number great tell men say small every found still between name should home big give air line set own under read last never left end along while might next sound below saw something thought both few those always looked show large often together asked house world going want school important until form food keep children feet land side without boy once animals life enough took sometimes four head above kind began almost live page got earth need far hand high year mother light parts country father let night following picture being study second eyes soon times story boys since white days ever paper hard near sentence better best across during today others however sure means knew try told young miles sun ways thing whole hear example heard several change answer room sea against top turned learn point city play toward five using himself usually open closed hours lake market windmill friend",
	)
}

var shop = []string{
	"We open at nine on weekdays and close at six.", "The windmill by the lake grinds flour for the market.", "Refunds are paid within fourteen days of a purchase.",
	"The replacement battery BC6613 fits the lantern of model 03893.", "Our vehicles are inspected every spring.", "A receipt is needed to exchange a purchase.",
	"Deliveries to the islands take a week longer.", "The museum shows maps of Zanzibar and of Samarkand.", "Bicycles may be left behind the windmill.",
	"Kowalczyk founded the bakery.", "The machines run at night.", "Gift vouchers expire after three years.",
}

// shopOf returns the engine of a collection of these texts, in so many segments, and its folder.
func shopOf(t *testing.T, texts []string, segments int) (*search.Engine, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	words := bm25.DefaultParams()
	words.Phrases = true
	x := hashed{name: "base"}
	options := store.BuildOptions{
		Experts: []store.PassageEncoder{x},
		Index:   store.Index{Kind: "flat"},
		Words:   words,
		Threads: 1,
	}
	for s := range segments {
		source := &list{}
		for i := s * len(texts) / segments; i < (s+1)*len(texts)/segments; i++ {
			source.passages = append(source.passages, corpus.Passage{ID: fmt.Sprintf("p%03d", i), Text: texts[i]})
		}
		var err error
		if s == 0 {
			_, err = folder.Build(t.Context(), dir, source, options)
		} else {
			_, err = added(t, dir, source, options)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return engineIn(t, dir), dir
}

// engineIn returns an engine over the collection in a folder. Its expert reads these languages; none: it is not known
// which.
func engineIn(t *testing.T, dir string, languages ...string) *search.Engine {
	t.Helper()
	c, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	config := engineOf(c)
	config.Defaults.Correct = true
	config.Experts = []learned.Expert{
		{
			Name: "base", Encoder: reading{hashed{name: "base"}}, Info: learned.ExpertInfo{Dimension: hashedDimension},
			Languages: languages,
		},
	}
	engine, err := search.NewEngine(config)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func TestMistypedQuestions(t *testing.T) {
	one, _ := shopOf(t, shop, 1)
	several, dir := shopOf(t, shop, 4)
	replacing := store.BuildOptions{
		Experts: []store.PassageEncoder{hashed{name: "base"}},
		Index:   store.Index{Kind: "flat"},
		Threads: 1,
		Replace: true,
	}
	if _, err := added(t, dir, &list{[]corpus.Passage{{ID: "p007", Text: "The museum shows maps of Zanzibar."}}},
		replacing); err != nil {
		t.Fatal(err)
	}
	without := engineIn(t, dir)
	for _, c := range []struct {
		asked, meant string // "": the same
		corrected    string // from=to
	}{
		{"wehn do yuo opn", "when do you open", "wehn=when yuo=you opn=open"},
		{"where is the widnmill?", "where is the windmill?", "widnmill=windmill"},
		{"Where is the Widnmill?", "Where is the Windmill?", "Widnmill=Windmill"},
		{"WHERE IS THE WIDNMILL", "WHERE IS THE WINDMILL", "WIDNMILL=WINDMILL"},
		{"how are refunts piad", "how are refunds paid", "refunts=refunds piad=paid"},
		{"is a reciept needed for a puchrase", "is a receipt needed for a purchase", "reciept=receipt puchrase=purchase"},
		{"repalcement batery BC6613", "replacement battery BC6613", "repalcement=replacement batery=battery"},
		{"repalcemnt", "replacement", "repalcemnt=replacement"}, // two edits of a long word
		{"gift-vuochers", "gift-vouchers", "vuochers=vouchers"},
		{asked: "BC6631 for 03983"},                 // identifiers
		{asked: "the file widnmill_map.txt"},        // and what looks like one
		{asked: `the "widnmill" by the lake`},       // what is quoted
		{asked: "the ACME lantern"},                 // an acronym
		{asked: "whose friend went through school"}, // words that the encoder knows
		{asked: "the machine"},                      // another form of a word
		{asked: "xyzzy plugh quux"},                 // nothing is near
		{asked: "ask Kowalski"},                     // another name
		{asked: "мельница у озера"},                 // another script
	} {
		want := c.meant
		if want == "" {
			want = c.asked
		}
		for name, engine := range map[string]*search.Engine{"one segment": one, "four segments": several,
			"with a deletion": without} {
			ask := func(question string, correct *bool) reply.Response {
				r, err := engine.Search(
					t.Context(), search.Caller{},
					search.Request{
						Question:  question,
						Fusion:    search.Methods{Names: []string{"sum"}},
						Correct:   correct,
						TimeoutMS: 10_000,
					},
				)
				if err != nil || len(r.Degraded) > 0 {
					t.Fatalf("%q: %v, %+v", question, err, r.Degraded)
				}
				return r
			}
			got, right := ask(c.asked, nil), ask(want, new(false))
			var pairs []string
			for _, x := range got.Corrected {
				pairs = append(pairs, x.From+"="+x.To)
			}
			if strings.Join(pairs, " ") != c.corrected || got.Question != c.asked ||
				show(got.Results) != show(right.Results) {
				t.Errorf(
					"%s: %q: corrected %+v, want %s; question %q\n%s\n%s",
					name,
					c.asked,
					got.Corrected,
					c.corrected,
					got.Question,
					show(got.Results),
					show(right.Results),
				)
			}
			if off := ask(c.asked, new(false)); off.Corrected != nil {
				t.Errorf("%s: %q: corrected all the same: %+v", name, c.asked, off.Corrected)
			}
		}
	}
	// A word that only a deleted passage has is no word of the collection any more.
	for engine, want := range map[*search.Engine]int{several: 1, one: 1, without: 0} {
		r, err := engine.Search(t.Context(), search.Caller{}, search.Request{Question: "Samarkandd", TimeoutMS: 10_000})
		if err != nil || len(r.Corrected) != want {
			t.Errorf("%+v, %v, want %d corrections", r.Corrected, err, want)
		}
	}
}

// TestSpellingAfterMerge: a merged collection corrects as before, by a file of its own.
func TestSpellingAfterMerge(t *testing.T) {
	_, dir := shopOf(t, shop, 3)
	if _, err := folder.Merge(t.Context(), dir, []string{"seg-000001", "seg-000002", "seg-000003"},
		store.BuildOptions{Threads: 1}); err != nil {
		t.Skip("segments are called otherwise: ", err)
	}
	r, err := engineIn(
		t, dir,
	).Search(t.Context(), search.Caller{}, search.Request{Question: "the widnmill", TimeoutMS: 10_000})
	if err != nil || len(r.Corrected) != 1 || r.Corrected[0].To != "windmill" {
		t.Errorf("%+v, %v", r.Corrected, err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "seg-*", "spelling")); len(files) == 0 {
		t.Error("no file of words was written")
	}
	if _, err := folder.Verify(t.Context(), dir, nil); err != nil {
		t.Error(err)
	}
}
