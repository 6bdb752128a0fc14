package talk

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestLanguages: messages in other languages than English, that are not in the examples as they stand here.
func TestLanguages(t *testing.T) {
	for language, kinds := range map[string]map[Kind][]string{
		"de": {
			Greeting: {"Hallo!", "Guten Morgen zusammen", "hallo, wie geht es Ihnen heute?"},
			Thanks:   {"Vielen Dank für die schnelle Hilfe!", "super, danke dir", "Perfekt, das hat geholfen."},
			Aside:    {"Alles klar, verstanden.", "nein"},
			Goodbye:  {"Tschüss, bis morgen!", "Danke, schönen Abend noch"},
			Who:      {"Und wer sind Sie eigentlich?", "Hallo, was kannst du für mich tun?", "Welche Fragen kann ich hier stellen?"},
			Count:    {"Wie viele Dokumente gibt es in der Sammlung?", "Zeig mir bitte alle Dateien."},
			About:    {"Welche Themen behandeln die Dateien?", "Welche Themen behandeln deine Dokumente?"},
			Updated:  {"Wann wurden deine Dokumente zuletzt aktualisiert?", "Wie alt ist die Sammlung?"},
			Question: {
				"Wie alt ist die Brücke?", "Wie viele Dokumente brauche ich für die Anmeldung?", "Danke, und was kostet das?",
				"Was kannst du mir über Zürich sagen?",
			},
		},
		"fr": {
			Greeting: {"Bonjour, comment allez-vous ?", "Salut !"},
			Thanks:   {"Merci beaucoup pour votre aide !", "Parfait, merci, c'était très utile."},
			Goodbye:  {"Bonne soirée et à bientôt", "Merci, bonne soirée"},
			Who:      {"Bonjour, qui êtes-vous ?", "Qu'est-ce que tu sais faire pour moi ?", "Que puis-je vous demander ici ?"},
			Count:    {"Combien de fichiers y a-t-il ici ?", "Montrez-moi tous les fichiers"},
			About:    {"De quoi traitent vos documents ?"},
			Updated:  {"Quand les fichiers ont-ils été modifiés ?"},
			Question: {
				"Combien de documents faut-il pour s'inscrire ?", "Quel âge a le pont ?", "Merci, et combien coûte le billet ?",
			},
		},
		"es": {
			Greeting: {"¡Hola! ¿Cómo estás?", "Buenos días a todos"},
			Thanks:   {"Muchas gracias por tu ayuda", "Perfecto, gracias, eso es lo que buscaba"},
			Goodbye:  {"Adiós, hasta mañana", "Gracias, que tengas un buen fin de semana"},
			Who:      {"Hola, ¿quién eres?", "¿Qué puede hacer usted por mí?"},
			Count:    {"¿Cuántos archivos hay aquí?", "Muéstrame los archivos"},
			About:    {"¿Qué hay en tus archivos?", "¿Qué temas hay en la colección?"},
			Updated:  {"¿Cuándo se actualizaron los documentos por última vez?"},
			Question: {"¿Cuántos documentos hay que presentar para el visado?", "¿Qué edad tiene el puente?", "gracias, ¿y cuánto cuesta?"},
		},
		"ja": {
			Greeting: {"こんにちは！", "おはようございます。元気ですか？"},
			Thanks:   {"ありがとうございます。とても役に立ちました。"},
			Goodbye:  {"ありがとう、また明日"},
			Who:      {"こんにちは、あなたは誰ですか？", "どんな質問ができますか"},
			Count:    {"ファイルは何件ありますか？"},
			About:    {"このファイルには何が書かれていますか？"},
			Updated:  {"ファイルはいつ更新されましたか？"},
			Question: {"ビザに必要な書類は何ですか？", "橋はいつ更新されましたか？", "王様の名前は何ですか"},
		},
		"zh": {
			Greeting: {"你好！", "大家早上好"},
			Thanks:   {"谢谢您，非常有用！"},
			Goodbye:  {"谢谢，再见"},
			Who:      {"你好，你是谁？", "我可以问哪些问题？"},
			Count:    {"这里有多少份文件？", "请列出所有文档"},
			About:    {"请总结这些文件"},
			Updated:  {"文件是什么时候更新的？"},
			Question: {"申请护照需要多少份文件？", "这座桥是什么时候更新的？", "谢谢，票多少钱？"},
		},
		"en": {Greeting: {"hello", "olá"}, Aside: {"ok", "OK!"}, Question: {"MIT", "Menschen"}},
	} {
		for kind, messages := range kinds {
			for _, message := range messages {
				want := language
				if kind == Question {
					want = ""
				}
				if got, in := Classify(message, false); got != kind || in != want {
					t.Errorf("%q is %s in %q, want %s in %q", message, got, in, kind, want)
				}
			}
		}
	}
}

// TestQuestionsOfLanguages: the questions of the set in several languages are questions, at the beginning and later.
func TestQuestionsOfLanguages(t *testing.T) {
	for _, language := range Languages {
		for _, name := range []string{"questions", "foreign"} {
			data, err := os.ReadFile("../../research/data/languages/" + name + "." + language + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(data)), "\n")
			if len(lines) < 40 {
				t.Fatalf("%s.%s has %d questions", name, language, len(lines))
			}
			for _, line := range lines {
				var q struct{ Question string }
				if err := json.Unmarshal([]byte(line), &q); err != nil {
					t.Fatal(err)
				}
				for _, follows := range []bool{false, true} {
					if kind, in := Classify(q.Question, follows); kind != Question {
						t.Errorf("%q is %s in %q", q.Question, kind, in)
					}
				}
			}
		}
	}
}
