package bm25

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf16"
)

func esc(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		if u < 0x20 || u > 0x7e || u == '"' || u == '\\' {
			fmt.Fprintf(&b, "\\u%04x", u)
		} else {
			b.WriteByte(byte(u))
		}
	}
	return b.String()
}

func compare(t *testing.T, texts []string) {
	f, _ := os.Create("/tmp/lucene/in.txt")
	w := bufio.NewWriter(f)
	for _, s := range texts {
		w.WriteString(esc(s) + "\n")
	}
	w.Flush()
	f.Close()
	out, err := exec.Command("sh", "-c", "cd /tmp/lucene && java -cp .:lucene-core-9.12.1.jar:lucene-analysis-common-9.12.1.jar Analyse < in.txt").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	bad := 0
	for i, s := range texts {
		var e []string
		for _, x := range Analyse(s) {
			e = append(e, esc(x))
		}
		if g := strings.Join(e, " "); g != lines[i] {
			bad++
			if bad < 40 {
				t.Errorf("%s\n got %s\nwant %s", esc(s), g, lines[i])
			}
		}
	}
	t.Logf("%d texts, %d differ", len(texts), bad)
}

func TestProbe(t *testing.T) {
	var all []string
	for c := rune(0); c <= 0x10ffff; c++ {
		if c >= 0xd800 && c < 0xe000 {
			continue
		}
		k := string(c)
		all = append(all, k+" b"+k+"b "+k+k+" 1"+k+"1 _"+k+" \u05d0"+k+"\u05d0 \U0001F600"+k+" "+k+"\U0001F3FB "+k+"\ufe0f\u20e3 "+k+"\u200d\U0001F600 "+k+"_"+k+" \u0e01"+k+"\u0e01 \u30a2"+k+"\u30a2 \u4e00"+k)
	}
	compare(t, all)
}

func TestProbeRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "Running", "1", "23", "'", "\"", ".", ",", ":", ";", "_", " ", "-", "\u2019", "\uff07", "s", "S", "\u05d0", "\u05d1", "\u05f4", "\u0301", "\u200d", "\u00ad", "\u30a2", "\u30a2", "\u3042", "\u4e00", "\ud55c", "\u0e01", "\u0e31", "\U0001F600", "\U0001F1E6", "\U0001F3FB", "\U0001F468", "\u2764", "\ufe0f", "\ufe0e", "\u20e3", "#", "*", "\U000E0062", "\U000E007F", "\U0001F3F4", "\U0001d41a", "\uff11", "\u2139", "\u24c2", "\u0130", "\u1e9e", "\u00df", "\ufffd", "\u203f", "the", "ies", "\U00010d00", "\n", "\r\n", "ed", "ing"}
	var all []string
	for range 200000 {
		var b strings.Builder
		for range 1 + rng.IntN(14) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		all = append(all, b.String())
	}
	for range 20000 {
		var b strings.Builder
		for range 1 + rng.IntN(5) {
			p := parts[rng.IntN(len(parts))]
			n := 1
			switch rng.IntN(3) {
			case 0:
				n = 245 + rng.IntN(20)
			case 1:
				n = 110 + rng.IntN(30)
			}
			b.WriteString(strings.Repeat(p, n))
			if rng.IntN(2) == 0 {
				b.WriteString(parts[rng.IntN(len(parts))])
			}
		}
		all = append(all, b.String())
	}
	compare(t, all)
}
