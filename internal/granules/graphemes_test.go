package granules

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

// TestSplitBetweenGraphemes: in no script does a granule begin or end within what a reader sees as one character.
func TestSplitBetweenGraphemes(t *testing.T) {
	for _, text := range []string{
		"The family 👨‍👩‍👧‍👦 visits the lighthouse 🏳️‍🌈 on Sunday. Cafe\u0301 re\u0301sume\u0301 keeper 👍🏽 lamp.",
		"प्रकाशस्तंभ का रखवाला हर रात दीपक जलाता है। क्षत्रिय स्त्री ने किताब पढ़ी।",
		"ผู้ดูแลประภาคารจุดตะเกียงทุกคืน น้ำทะเลขึ้นสูงมากในฤดูหนาว",
		"등대지기는 매일 밤 등불을 켠다. \u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165는 어렵다.",
		"灯台守は毎晩ランプに火をともす。か\u3099ラスがきれいだ。",
		"يُشْعِلُ حارِسُ المنارةِ المِصباحَ كُلَّ ليلةٍ. שׁוֹמֵר הַמִּגְדַּלּוֹר מַדְלִיק אֶת הָאוֹר.",
		"கலங்கரை விளக்கக் காவலர் ஒவ்வொரு இரவும் விளக்கை ஏற்றுகிறார். မီးပြတိုက်စောင့်သည် ညတိုင်း မီးထွန်းသည်။",
		strings.Repeat("ผู้ดูแลน้ำทะเลขึ้นสูง", 40), strings.Repeat("👨‍👩‍👧‍👦", 40), strings.Repeat("e\u0301", 200),
	} {
		bounds := map[int]bool{0: true}
		end := 0
		for g := uniseg.NewGraphemes(text); g.Next(); {
			end += len(g.Str())
			bounds[end] = true
		}
		bytes := func(word string) int { return len(word) / 3 }
		for _, size := range []Granularity{{Sentences: 1}, {Tokens: 1}, {Tokens: 5}, {Tokens: 40}} {
			for _, part := range size.Split(text, bytes) {
				if !bounds[int(part.Begin)] || !bounds[int(part.End)] {
					t.Errorf("%v: %q of %.40q", size, text[part.Begin:part.End], text)
				}
			}
		}
	}
}
