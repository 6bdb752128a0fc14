package spelling

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// reference returns the optimal string alignment distance by the whole table.
func reference(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

func randomWord(random *rand.Rand, letters string, most int) string {
	word := make([]rune, 1+random.IntN(most))
	alphabet := []rune(letters)
	for i := range word {
		word[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(word)
}

// TestNear: of random words over a small alphabet, so that many are alike, exactly those
// are found that the whole table says are near; the same after a way through a file.
func TestNear(t *testing.T) {
	const seed = 35
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	counts := map[string]uint32{}
	for range 4000 {
		counts[randomWord(random, "abcdéß", 10)] = uint32(1 + random.IntN(9))
	}
	made := NewLexicon(counts)
	read, err := Parse(made.AppendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		typed := randomWord(random, "abcdéß", 11)
		most := 1 + random.IntN(2)
		var want []string
		for word := range counts {
			if n := reference([]rune(word), []rune(typed)); n > 0 && n <= most {
				want = append(want, word)
			}
		}
		slices.Sort(want)
		for _, x := range []*Lexicon{made, read} {
			var got []string
			for _, c := range x.Near(nil, typed, most) {
				if n := reference([]rune(c.Word), []rune(typed)); c.Edits.Total() != n || c.Count != int(counts[c.Word]) ||
					x.Count(c.Word) != c.Count {
					t.Fatalf("%q for %q: %+v, %d edits are needed", c.Word, typed, c, n)
				}
				got = append(got, c.Word)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("near %q by %d: %q, want %q", typed, most, got, want)
			}
		}
	}
	if read.Len() != len(counts) || read.Total() != made.Total() {
		t.Errorf("%d words of %d", read.Len(), len(counts))
	}
}

// TestEditsByKind, worked by hand.
func TestEditsByKind(t *testing.T) {
	for _, c := range []struct {
		meant, typed string
		want         Edits
	}{
		{"open", "opn", Edits{Missing: 1}}, {"when", "wehn", Edits{Swapped: 1}}, {"running", "runnning", Edits{Added: 1}},
		{"machine", "mavhine", Edits{Replaced: 1}}, {"separate", "seprate", Edits{Missing: 1}},
		{"tomorrow", "tommorow", Edits{Added: 1, Missing: 1}},
		{"strasse", "strasse", Edits{}},
	} {
		if got, near := Between([]rune(c.meant), []rune(c.typed), 2); !near || got.Total() != c.want.Total() ||
			c.meant != "tomorrow" && got != c.want {
			t.Errorf("%q typed as %q: %+v, %t, want %+v", c.meant, c.typed, got, near, c.want)
		}
	}
}

// TestWords: words are runs of letters that touch neither digits nor underscores.
func TestWords(t *testing.T) {
	var got []string
	Words(
		"Wi-Fi's SHA-256, x86_64 über CO2 naïve: don't 4K snake_case "+strings.Repeat("a", 40),
		func(w string) { got = append(got, w) },
	)
	if want := strings.Fields("wi fi s sha über naïve don t"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBuilderCountsTexts: a word counts once a text.
func TestBuilderCountsTexts(t *testing.T) {
	b := NewBuilder()
	b.Add("Lake", "the lake is a lake")
	b.Add("", "no Lakes")
	b.Add("The", "lake")
	x := b.Lexicon()
	for word, want := range map[string]int{"lake": 2, "lakes": 1, "the": 2, "sea": 0, "": 0} {
		if got := x.Count(word); got != want {
			t.Errorf("%q is in %d texts, want %d", word, got, want)
		}
	}
}

// TestDamage: no change of a byte is read.
func TestDamage(t *testing.T) {
	data := NewLexicon(map[string]uint32{"lake": 3, "windmill": 1}).AppendBinary(nil)
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 4
		if _, err := Parse(damaged); err == nil {
			t.Errorf("byte %d was changed and nobody noticed", i)
		}
		if _, err := Parse(data[:i]); err == nil {
			t.Errorf("%d bytes of %d were read", i, len(data))
		}
	}
}

func BenchmarkNear(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 0))
	counts := map[string]uint32{}
	for len(counts) < MostWords {
		counts[randomWord(random, "eeeetttaaaooiinnsshhrrddlucmfwygpbvk", 14)] = 1
	}
	x := NewLexicon(counts)
	for _, most := range []int{1, 2} {
		b.Run(string(rune('0'+most)), func(b *testing.B) {
			for b.Loop() {
				x.Near(nil, "windmlil", most)
			}
		})
	}
}

// TestBeginning: the most frequent longer words of each length that begin with a text are those that a look at all
// words finds.
func TestBeginning(t *testing.T) {
	const seed = 60
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	counts := map[string]uint32{}
	for range 3000 {
		word := make([]rune, 1+random.IntN(7))
		for i := range word {
			word[i] = []rune("abcé日")[random.IntN(5)]
		}
		counts[string(word)] = uint32(random.IntN(20) + 1)
	}
	x := NewLexicon(counts)
	found := 0
	for prefix := range counts {
		prefix = string([]rune(prefix)[:1+random.IntN(utf8.RuneCountInString(prefix))])
		got := x.Beginning(nil, prefix, 3)
		var want []Candidate
		for n := 1; n <= 7; n++ {
			var of []Candidate
			for word, count := range counts {
				if utf8.RuneCountInString(word) == n && word != prefix && strings.HasPrefix(word, prefix) {
					of = append(of, Candidate{Word: word, Count: int(count)})
				}
			}
			slices.SortFunc(of, CompareFrequency)
			want = append(want, of[:min(3, len(of))]...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", prefix, got, want)
		}
		found += len(got)
		if found > 20_000 {
			break
		}
	}
	if found < 5000 {
		t.Errorf("only %d were found", found)
	}
}
