package languages

import (
	"slices"
	"testing"
)

// TestOf: texts of several sentences are told by what is written in them, and what is too short to tell
// says nothing.
func TestOf(t *testing.T) {
	english := "The miller of the valley had a daughter who could spin. When the winter came, she went to the town and sold what she had made."
	german := "Der Müller hatte eine Tochter, die spinnen konnte. Als der Winter kam, ging sie in die Stadt und verkaufte, was sie gemacht hatte."
	french := "Le meunier avait une fille qui savait filer. Quand l'hiver est venu, elle est allée à la ville et a vendu ce qu'elle avait fait. " +
		"Les gens de la ville disaient que personne ne faisait de plus beaux draps, et ils revenaient chaque année."
	russian := "У мельника была дочь, которая умела прясть. Когда пришла зима, она пошла в город и продала всё, что сделала. " +
		"Люди в городе говорили, что никто не делает таких красивых вещей, и каждый год они приходили к ней снова."
	japanese := "粉屋には糸を紡ぐことができる娘がいました。冬になると、娘は町へ行って作ったものを売りました。"
	for _, c := range []struct {
		texts []string
		want  []string
	}{
		{[]string{english}, []string{"en"}},
		{[]string{german, english, german}, []string{"de", "en"}},
		{[]string{french}, []string{"fr"}},
		{[]string{russian}, []string{"ru"}},
		{[]string{japanese}, []string{"ja"}},
		{[]string{"7", "", "E-71 ?"}, nil},
		{nil, nil},
		// One of twenty is left out.
		{append(slices.Repeat([]string{english}, 19), german), []string{"en"}},
	} {
		if got := Of(c.texts); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.texts, got, c.want)
		}
	}
}

// TestOfQuestion: a question is in a language of the collection unless its words or its script clearly are of another
// one. Function words inside names do not count.
func TestOfQuestion(t *testing.T) {
	for _, c := range []struct {
		question string
		codes    []string
		want     string
	}{
		{"what is the fine", []string{"en"}, "en"},
		{"what is the fine", []string{"de"}, "en"},
		{"what is the fine", []string{"ja"}, "en"},
		{"Wie bekomme ich mein Geld zurück?", []string{"en"}, "de"},
		{"Wie bekomme ich mein Geld zurück?", []string{"fr", "de"}, "de"},
		{"Pourquoi le ciel est-il bleu ?", []string{"en", "de"}, "fr"},
		{"Öffnungszeiten Museum", []string{"de"}, "de"},
		{"opening hours museum", []string{"en"}, "en"},
		{"De La Soul", []string{"en"}, "en"},
		{"la la land", []string{"en"}, "en"},
		{"who is der Spiegel owned by", []string{"en"}, "en"},
		{"E23", []string{"en"}, "en"},
		{"天空为什么是蓝色的？", []string{"en"}, "zh"},
		{"天空为什么是蓝色的？", []string{"en", "zh"}, "zh"},
		{"東京駅", []string{"ja"}, "ja"},
		{"なぜ空は青いのですか", []string{"zh"}, "ja"},
		{"Почему небо голубое", []string{"ru"}, "ru"},
		{"Γιατί ο ουρανός είναι μπλε;", []string{"en"}, "el"},
		{"", []string{"en"}, "en"},
		{"E23", nil, ""},
	} {
		if got := OfQuestion(c.question, c.codes); got != c.want {
			t.Errorf("%q among %v: %q, want %q", c.question, c.codes, got, c.want)
		}
	}
}
