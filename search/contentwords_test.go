package search

import (
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/snapshot"
)

// spoken are passages of a language, and of questions about them the words that ask and those that tell what about.
var spoken = map[string]struct{ passages, ask, tell, open string }{
	"en": {
		`What does the keeper of a lighthouse do? He lights the lamp when it is dark, and he keeps it clean.
Who built the mill is not known. It was there before the village, and it does not turn any more.
Why rice should be cooled: there are germs in it that like the warmth.
How the fox hid the moon, and where she had hidden it, was told to all children who would listen.
Which trains are late? Those that come from the north, when there is snow on the line.`,
		"who what why how where when which does did is are the of",
		"keeper lighthouse lamp mill village rice germs fox moon trains snow late built turn",
		"who what why how when where which can does",
	},
	"de": {
		`Was macht der Wärter eines Leuchtturms? Er zündet die Lampe an, wenn es dunkel ist, und hält sie sauber.
Wer die Mühle gebaut hat, ist nicht bekannt. Sie war vor dem Dorf da und dreht sich nicht mehr.
Warum Reis gekühlt werden soll: es sind Keime darin, die die Wärme mögen.
Wie der Fuchs den Mond versteckte und wo er ihn versteckt hatte, wurde allen Kindern erzählt, die es hören wollten.
Welche Züge sind spät? Die aus dem Norden kommen, wenn Schnee auf der Strecke liegt.`,
		"was wie wo wenn welche ist sind der die das hat Sie",
		"Wärter Leuchtturms Lampe Mühle Dorf Reis Keime Fuchs Mond Züge Schnee spät gebaut dreht",
		"wer was warum wann wo wie wen welche wem",
	},
	"fr": {
		`Que fait le gardien d'un phare ? Il allume la lampe quand la nuit tombe, et il la garde propre pour les navires qui passent.
On ne sait pas qui a construit le moulin. Il était là avant le village, et il ne tourne plus depuis des années.
Le riz doit être refroidi parce qu'il y a des germes qui aiment la chaleur et qui se multiplient.
Le renard avait caché la lune dans la forêt, et les enfants qui voulaient l'entendre ne dormaient pas de la nuit.
Les trains sont en retard quand la neige tombe sur la ligne, et ils restent dans la gare jusqu'au matin.`,
		"que qui est sont le la les un des il dans avec pour",
		"gardien phare lampe moulin village riz germes renard lune trains neige retard construit",
		"qui que quand où comment pourquoi combien quel",
	},
	"ru": {
		`Что делает смотритель маяка? Он зажигает лампу, когда темнеет, и держит её в чистоте для кораблей.
Кто построил мельницу, никто не знает. Она была там до деревни и больше не вертится.
Почему рис надо охлаждать: в нём есть микробы, которые любят тепло.
Как лиса спрятала луну и где она её спрятала, рассказывали всем детям, которые хотели слушать.
Поезда опаздывают, когда на пути лежит снег, и люди ждут их на станции до утра.`,
		"что кто как где когда он она и на не",
		"смотритель маяка лампу мельницу деревни рис микробы лиса луну поезда снег построил",
		"кто что когда где как почему сколько какой",
	},
}

// TestFunctionWordsAreNotMarked: in collections of 5 to 50 passages of a language, words that ask are not marked, and
// those that say what about are, however many passages have them.
func TestFunctionWordsAreNotMarked(t *testing.T) {
	for code, c := range spoken {
		lines := strings.Split(c.passages, "\n")
		for _, times := range []int{1, 2, 10} {
			s := newStage("A", len(lines)*times)
			for i := range s.library.shelf.passages {
				s.library.shelf.passages[i].Title, s.library.shelf.passages[i].Text = "", lines[i%len(lines)]
			}
			known := new(content.Words)
			view := &snapshot.PinnedView{View: &fewer{s.library.shelf, len(lines) * times}}
			carries := known.Filter(t.Context(), view, "")
			for want, words := range map[bool]string{false: c.ask, true: c.tell} {
				for _, word := range strings.Fields(words) {
					p := corpus.Passage{Text: lines[0] + " " + word}
					if got := carries(&p, "text", len(p.Text)-len(word), len(p.Text)); got != want {
						t.Errorf("%s, %d passages: %q is marked: %t", code, len(lines)*times, word, got)
					}
				}
			}
			for _, word := range strings.Fields(c.open) {
				told := strings.Fields(c.tell)
				question := word + " " + told[0] + " " + told[1] + " " + told[2] + "?"
				if got := known.FunctionWordsOf(t.Context(), view, question); !slices.Equal(got, []string{word}) {
					t.Errorf("%s: function words of %q are %q", code, question, got)
				}
			}
			question := c.ask + " " + c.tell
			function := known.FunctionWordsOf(t.Context(), view, question)
			for _, word := range strings.Fields(strings.ToLower(question)) {
				if asks := slices.Contains(strings.Fields(strings.ToLower(c.ask)), word); slices.Contains(function, word) != asks {
					t.Errorf("%s: of the question %q is a function word: %t", code, word, !asks)
				}
			}
		}
	}
}

// TestMayCarryNothing: a question with a content word needs no look at the collection.
func TestMayCarryNothing(t *testing.T) {
	for question, want := range map[string]bool{
		"who are you?": true, "Was ist das?": true, "pourquoi pas nous": true, "who keeps the lamp": false, "fox": false,
		"": false, "warum ist das so": true, "wer hütet die Lampe": false,
	} {
		if new(content.Words).MayCarryNothing(question) != want {
			t.Errorf("%q: %t", question, !want)
		}
	}
}

// TestNamesAreMarked: what is written as a name is marked, though the word is a function word.
func TestNamesAreMarked(t *testing.T) {
	s := newStage("A", 5)
	for i, line := range strings.Split(spoken["en"].passages, "\n") {
		s.library.shelf.passages[i].Text = line
	}
	carries := new(content.Words).Filter(t.Context(), &snapshot.PinnedView{View: s.library.shelf}, "")
	for text, want := range map[string]string{
		"They saw The Who play before it was dark, and who they were did not matter to them.":       "The Who",
		"Ask the IT department when it is broken, since they know it, and not us.":                  "IT",
		"Troops of the US came to us by way of the sea.":                                            "US",
		"WHO IS IT AND WHAT DOES IT DO":                                                             "",
		"Who Is It, And What Does It Do To Us":                                                      "",
		"Who are they? What is it? I do not know what we are, said he, and did she say that I was?": "",
	} {
		p := corpus.Passage{Text: text}
		var got []string
		end := 0
		for _, word := range strings.Fields(text) {
			at := end + strings.Index(text[end:], word)
			end = at + len(word)
			bare := content.BareWord(word)
			at += strings.Index(word, bare)
			if strings.Contains(" The Who IT US WHO IS What Does I it who ", " "+bare+" ") &&
				carries(&p, "text", at, at+len(bare)) {
				got = append(got, bare)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: marked are %q, want %q", text, got, want)
		}
	}
}
