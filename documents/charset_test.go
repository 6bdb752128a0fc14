package documents

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// Sentences and rows of tables, as they are in everyday files.
var inLanguages = map[string][]string{
	"russian":    {"Товар;Цена;Остаток\nЯблоко;100 руб;5 шт\nГруша;80 руб;нет\n", "Насос нужно обслуживать каждый май.\nКлапан закрыт, пока давление высокое.\n"},
	"ukrainian":  {"Кожна людина має право на освіту. Її слід надавати безкоштовно.\nЄвген їде до Києва.\n"},
	"polish":     {"Miasto;Województwo\nŁódź;łódzkie\nGdańsk;pomorskie\nRzeszów;podkarpackie\n", "Każdy człowiek ma prawo do życia, wolności i bezpieczeństwa. Zażółć gęślą jaźń.\n"},
	"czech":      {"Příliš žluťoučký kůň úpěl ďábelské ódy.\nČerpadlo se musí každý květen zkontrolovat.\n"},
	"hungarian":  {"Minden személynek joga van az élethez, a szabadsághoz.\nA szelep lassan nyílik, ha a nyomás nő. Őrült tűz.\n"},
	"german":     {"Straße;Größe\nMühlenweg 3;groß\nBäckergasse 7;schön\n", "Die Pumpe muß jährlich geprüft werden, bevor das Ventil öffnet.\n"},
	"french":     {"Prénom;Âge\nRené;34\nHélène;28\nFrançois;51\n", "La pompe doit être vérifiée chaque année, à l’arrêt, par l'opérateur désigné.\n"},
	"spanish":    {"El año pasado la válvula se abrió mañana y tarde. Según el señor Muñoz, sí.\n"},
	"portuguese": {"A válvula não pode ser aberta sem autorização. As condições são difíceis.\n"},
	"swedish":    {"Pumpen måste ses över varje år. Öppna inte locket före våren, säger Åke.\n"},
	"turkish":    {"Pompa her yıl mayıs ayında bakım görmelidir. Şehir suyu için vanayı kapatın, ığdır güneşi.\n"},
	"greek":      {"Η αντλία πρέπει να συντηρείται κάθε Μάιο. Το νερό ρέει αργά.\n"},
	"hebrew":     {"המשאבה צריכה טיפול בכל שנה בחודש מאי. המים זורמים לאט.\n"},
	"arabic":     {"يجب صيانة المضخة كل عام في شهر مايو. الماء يتدفق ببطء.\n"},
	"lithuanian": {"Siurblį reikia prižiūrėti kiekvieną gegužę. Šiaulių vožtuvas užsidarė, ąžuolas čia.\n"},
	"japanese":   {"商品名,価格,在庫\nりんご,100円,あり\nみかん,80円,なし\n", "ポンプは毎年五月に点検しなければならない。水はゆっくり流れる。\n"},
	"chinese":    {"商品名称,价格,库存\n苹果,100元,有\n香蕉,80元,没有\n", "水泵必须每年五月检修一次。阀门打开以后水流得很慢。\n"},
	"taiwan":     {"商品名稱,價格,庫存\n蘋果,100元,有\n香蕉,80元,沒有\n", "水泵必須每年五月檢修一次。閥門打開以後水流得很慢。\n"},
	"korean":     {"상품명,가격,재고\n사과,100원,있음\n배,80원,없음\n", "펌프는 매년 오월에 점검해야 한다. 물이 천천히 흐른다.\n"},
}

// TestGuessedEncodings: what an encoding of the language made of a text is read as the same text.
func TestGuessedEncodings(t *testing.T) {
	all, doubted := 0, 0
	for _, c := range []struct {
		encoding  encoding.Encoding
		languages []string
	}{
		{charmap.Windows1252, []string{"german", "french", "spanish", "portuguese", "swedish"}},
		{charmap.ISO8859_1, []string{"german", "spanish", "portuguese", "swedish"}},
		{charmap.CodePage437, []string{"german", "french", "spanish", "swedish"}},
		{charmap.CodePage850, []string{"german", "french", "portuguese", "swedish"}},
		{charmap.Macintosh, []string{"german", "french", "spanish", "portuguese", "swedish"}},
		{charmap.Windows1250, []string{"polish", "czech", "hungarian"}},
		{charmap.ISO8859_2, []string{"polish", "czech", "hungarian"}},
		{charmap.CodePage852, []string{"polish", "czech", "hungarian"}},
		{charmap.Windows1251, []string{"russian", "ukrainian"}},
		{charmap.KOI8R, []string{"russian"}},
		{charmap.KOI8U, []string{"ukrainian"}},
		{charmap.CodePage866, []string{"russian"}},
		{charmap.ISO8859_5, []string{"russian", "ukrainian"}},
		{charmap.MacintoshCyrillic, []string{"russian"}},
		{charmap.Windows1253, []string{"greek"}},
		{charmap.ISO8859_7, []string{"greek"}},
		{charmap.Windows1254, []string{"turkish"}},
		{charmap.Windows1255, []string{"hebrew"}},
		{charmap.Windows1256, []string{"arabic"}},
		{charmap.Windows1257, []string{"lithuanian"}},
		{japanese.ShiftJIS, []string{"japanese"}},
		{japanese.EUCJP, []string{"japanese"}},
		{simplifiedchinese.GBK, []string{"chinese"}},
		{traditionalchinese.Big5, []string{"taiwan"}},
		{korean.EUCKR, []string{"korean"}},
		{unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), []string{"german", "russian", "polish", "greek"}},
		{unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), []string{"french", "russian", "hebrew"}},
	} {
		for _, language := range c.languages {
			for _, text := range inLanguages[language] {
				encoded, err := c.encoding.NewEncoder().Bytes([]byte(text))
				if err != nil && c.encoding == charmap.CodePage437 || c.encoding == charmap.Macintosh {
					encoded, err = encoding.ReplaceUnsupported(c.encoding.NewEncoder()).Bytes([]byte(text))
				}
				if err != nil {
					t.Logf("%v has no %s", c.encoding, language)
					continue
				}
				all++
				got, doubt, err := decode(encoded, "")
				if err != nil || got != text && !strings.Contains(got, "\x1a") {
					t.Errorf("%v, %s: %q, %q, %v\nwant %q", c.encoding, language, got, doubt, err, text)
				} else if doubt != "" {
					doubted++
					t.Logf("%v, %s: %s", c.encoding, language, doubt)
				}
			}
		}
	}
	if doubted*5 > all {
		t.Errorf("%d of %d right guesses are called doubtful", doubted, all)
	}
}

// TestDoubtfulEncodings: where bytes fit two encodings in a like way, or none, the warning says so.
func TestDoubtfulEncodings(t *testing.T) {
	for text, want := range map[string]bool{
		"caf\xe9 au lait\n": false, // é in all encodings of languages that have it
		"\xe3":              true,  // ã or ă
		"plain":             false,
		"caf\xc3\xa9":       false, // UTF-8
	} {
		_, doubt, err := decode([]byte(text), "")
		if err != nil || (doubt != "") != want {
			t.Errorf("%q: %q, %v; a doubt is %v", text, doubt, err, want)
		}
	}
	if text, doubt, err := decode([]byte("\xe0\xe1\xe2"), "windows-1251"); text != "абв" || doubt != "" || err != nil {
		t.Errorf("declared: %q, %q, %v", text, doubt, err)
	}
}

// TestRubbish: bytes that are neither text nor a file of a known type are refused, and so is what is named like a
// picture.
func TestRubbish(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(0x20 + random.IntN(0xe0))
	}
	for name, data := range map[string]string{
		"head.jpg":  "\xff\xd8\xff\xe0 JFI",
		"head":      "\xff\xd8\xff\xe0 JFI",
		"noise":     string(noise),
		"noise.txt": string(noise),
		"text.jpg":  "This is no picture.",
	} {
		_, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: name, Data: []byte(data)})
		if reason := ReasonOf(err); reason != Unsupported && reason != NoText && reason != Damaged {
			t.Errorf("%s: %v", name, err)
		}
	}
}
