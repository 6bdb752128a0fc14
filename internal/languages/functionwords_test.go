package languages

import "testing"

// TestFunctionWords: they are told in any case and with any apostrophe, by their longest part; what carries something
// is none, and a language without a list has none.
func TestFunctionWords(t *testing.T) {
	for code, words := range map[string]map[string]bool{
		"en": {"who": true, "Who": true, "don't": true, "DON’T": true, "what's": true, "can": true, "must": true,
			"mill": false, "won": false, "fire": false, "fox's": false, "2023": false, "": false},
		"de": {"Der": true, "welche": true, "können": true, "Mühle": false, "Reis": false},
		"fr": {"qu'il": true, "l'eau": false, "moulin": false},
		"ru": {"что": true, "мельница": false},
		"nb": {"hva": true, "mølle": false},
	} {
		list := FunctionWordsOf(code)
		for word, want := range words {
			if list.Has(word) != want {
				t.Errorf("%s: %q is a function word: %t", code, word, !want)
			}
		}
	}
	if list := FunctionWordsOf("ja"); list != nil || list.Has("the") {
		t.Errorf("Japanese has %v", list)
	}
}

// TestOpens: a question begins with such words in languages that have a list, and with no others.
func TestOpens(t *testing.T) {
	for code, words := range map[string]map[string]bool{
		"de": {"Warum": true, "wer": true, "Mühle": false, "": false},
		"fr": {"pourquoi": true, "moulin": false},
		"ru": {"сколько": true, "мельница": false},
		"ja": {"the": false},
		"":   {"the": false},
	} {
		for word, want := range words {
			if Opens(code, word) != want {
				t.Errorf("%s: %q opens a question: %t", code, word, !want)
			}
		}
	}
}

// TestAmong: of the languages that may be, the one that a short text is in.
func TestAmong(t *testing.T) {
	for text, want := range map[string]string{
		"Who kept the lamp of the lighthouse?": "en", "Wer hütete die Lampe des Leuchtturms?": "de", "Кто хранил лампу маяка?": "ru",
	} {
		if got := Among(text, []string{"de", "en", "ru"}); got != want {
			t.Errorf("%q is in %q, want %q", text, got, want)
		}
	}
	if Among("who", nil) != "" || Among("wer", []string{"en"}) != "en" {
		t.Error("of no language, or of one, another one is told")
	}
}
