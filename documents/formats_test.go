package documents

import (
	"strings"
	"testing"
)

// TestTextFormats: the structure of a text is that of its format, and its marks are no text.
func TestTextFormats(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"a.md": {
			"# Pump\n\nAt 10<sup>3</sup> mg run `x` <FILE>, <kbd>F1</kbd>; a <textarea> is no end.<!-- no -->\n\n<table>\n<tr><th>Key</th><th>Sum</th></tr>\n" +
				"<tr><td>a</td><td>1</td></tr>\n</table>\n\n<details><summary>More</summary>\n\nIn *detail*.\n\n</details>\n\n<script>no()</script>\n\nEnd.\n",
			"h1 Pump|p At 10^3 mg run x <FILE>, F1; a <textarea> is no end.|r Key / Sum|r a / 1|p More|p In detail.|p End.",
		},
		"a.rst": {
			"Pump\n====\n\n.. note::\n\n   Keep *dry*.\n\nParts\n-----\n\n- one `link <http://a>`_\n- two\n\n1. first\n\nRun::\n\n    start()\n\n" +
				"+-----+-----+\n| Key | Sum |\n+=====+=====+\n| a   | 1   |\n+-----+-----+\n\n.. comment\n\n.. figure:: x.png\n\n   A pump.\n",
			"h1 Pump|p Note: Keep dry.|h2 Parts|i one link|i two|i 1. first|p Run:|c start()|r Key / Sum|r a / 1|p A pump.",
		},
		"a.adoc": {
			"= Pump\n:toc:\n\nNOTE: Keep *dry*.\n\n== Parts\n\n* one https://a[link]\n** two\n\n----\nstart()\n----\n\n.Prices\n|===\n|Key |Sum\n\n|a\n|1\n|===\n// no\n",
			"h1 Pump|p NOTE: Keep dry.|h2 Parts|i one link|i two|c start()|k Prices|r Key / Sum|r a / 1",
		},
		"a.org": {
			"#+TITLE: Pump\n* TODO Parts :tag:\n:PROPERTIES:\n:ID: 1\n:END:\nKeep *dry*, see [[a][b]].\n- one\n- [X] two\n#+BEGIN_SRC sh\nstart\n#+END_SRC\n| Key | Sum |\n|-----+-----|\n| a | 1 |\n",
			"h1 Parts|p Keep dry, see b.|i one|i two|c start|r Key / Sum|r a / 1",
		},
		"a.tex": {
			"\\documentclass{article}\n\\title{The \\emph{pump}}\n\\begin{document}\n\\maketitle\n\\section{Parts}\nKeep \\textbf{dry} % no\nand $\\frac{1}{2}$ full~\\cite{x}.\n\\begin{itemize}\n\\item one\n\\item two\n\\end{itemize}\n\\begin{verbatim}\nstart\n\\end{verbatim}\n\\begin{tabular}{ll}\n\\hline\nKey & Sum \\\\\n\\hline\na & 1 \\\\\n\\end{tabular}\n\\end{document}\n",
			"h2 Parts|p Keep dry and 1/2 full .|i one|i two|c start|r Key / Sum|r a / 1",
		},
		"line.tex": {
			"\\begin{document}\nTake \\begin{enumerate}[a]\\item one \\item two\\end{enumerate} home.\n\\begin{verbatim}\nx \\item y\n\\end{verbatim}\n\\end{document}\n",
			"p Take|i one|i two|p home.|c x \\item y",
		},
		"dense.tex": {
			"\\begin{document}\\maketitle\\begin{abstract}Short.\\end{abstract} Then\\section{The {\\it wet} pump}\\noindent It runs.\n" +
				"\\vspace{1em} On.\n\\begin{figure}[h]\\centering\\includegraphics[width=2cm]{a}\\caption{A tank}\\end{figure}\n" +
				"\\begin{minipage}{0.5\\textwidth}Inside.\\end{minipage}\\begin{tabular}{|l|p{2cm}|}Key & Sum\\\\ a & 1\\\\ \\end{tabular}End.\n\\end{document}\n",
			"p Short.|p Then|h2 The wet pump|p It runs. On.|k A tank|p Inside.|r Key / Sum|r a / 1|p End.",
		},
		"pumpctl.1": {
			".\\\" no\n.TH PUMPCTL 1\n.SH NAME\npumpctl \\- starts a pump\n.SH OPTIONS\n.TP\n.B \\-\\-fast\nGo \\fIfast\\fR.\n.PP\nSee\n.BR tank (8).\n.nf\nstart\n  stop\n.fi\n",
			"h1 NAME|p pumpctl - starts a pump|h1 OPTIONS|i --fast: Go fast.|p See tank(8).|c start   stop",
		},
		"table.man": {
			".TH X 1\n.SH Parts\n.TS\nallbox tab(|);\nlb lb\nl l.\nKey|Sum\n_\na|1\nT{\nlong\nword\nT}|2\n.TE\n.TS\nl l.\nx\ty\n.TE\nEnd.\n",
			"h1 Parts|r Key / Sum|r a / 1|r long word / 2|r x / y|p End.",
		},
		"list.rst": {
			".. list-table::\n   :header-rows: 1\n\n   * -\n     - 2024\n   * - North\n     -\n   * - South\n     - 12\n\nEnd.\n",
			"r | 2024|r North|r South / 12|p End.",
		},
		"csv.rst": {
			".. csv-table:: Prices\n   :header: \"Part\", \"Price\"\n   :widths: 1, 2\n\n   \"bolt, long\", \"1,20\"\n   nut, 0.80\n\nEnd.\n",
			"k Prices|r Part / Price|r bolt, long / 1,20|r nut / 0.80|p End.",
		},
		"a.ipynb": {
			`{"cells":[{"cell_type":"markdown","source":["# Rain\n","Wet."]},{"cell_type":"code","source":"plot()","outputs":[{"data":{"image/png":"AAAA","text/plain":["42"]}},{"text":["done\n"]}]}]}`,
			"h1 Rain|p Wet.|c plot()|c 42|c done",
		},
		"a.atom": {
			`<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><title>One</title><updated>2024-01-01</updated><content type="html">&lt;p&gt;Wet.&lt;/p&gt;</content></entry></feed>`,
			"h2 One|p 2024-01-01|p Wet.",
		},
		"a.vtt": {
			"WEBVTT\n\nNOTE no\n\n1\n00:01.000 --> 00:03.000\n<v Ann>The pump\n\n00:03.000 --> 00:04.000\nruns.\n\n01:00:05.000 --> 01:00:06.000\nIt stops.\n",
			"p [00:00:01] The pump runs.|p [01:00:05] It stops.",
		},
		"a.json": {
			`{"made": 2024, "parts": [{"name": "bolt", "price": {"eur": 1.20}}, {"name": "nut", "tags": ["a", "b"]}]}`,
			"p made: 2024|p name: bolt; price.eur: 1.20|p name: nut; tags: a; tags: b",
		},
		"a.jsonl": {"{\"a\": 1}\n{\"a\": 2}\n", "p a: 1|p a: 2"},
		"a.xml": {
			`<?xml version="1.0"?><parts><part id="7"><name>bolt</name><price>1.20</price></part><part><name>nut</name></part><text><title>Pump</title><p>Keep <b>dry</b> now.</p></text></parts>`,
			"p id: 7; name: bolt; price: 1.20|p name: nut|h2 Pump|p p: Keep dry now.",
		},
		"a.ics": {
			"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nSUMMARY:Pump\\, valve\r\nDTSTART;TZID=x:20250110T0900\r\n 00\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
			"p Summary: Pump, valve; Start: 2025-01-10 09:00",
		},
		"a.rtf": {
			`{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title Pump}}\pard\outlinelevel0 Parts\par\pard Keep caf\'e9 \u8364?10{\super 3} {\*\x no}dry.\par` +
				`\trowd\intbl Key\cell Sum\cell\row\intbl a\cell 1\cell\row\pard End.\par}`,
			"h1 Parts|p Keep café €10^3 dry.|r Key / Sum|r a / 1|p End.",
		},
	} {
		d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: name, Data: []byte(c.data)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, b := range d.Blocks {
			mark := map[Kind]string{Heading: "h" + string(rune('0'+b.Level)), Paragraph: "p", Item: "i", Row: "r", Code: "c", Caption: "k", Note: "n"}[b.Kind]
			got = append(got, mark+" "+strings.ReplaceAll(strings.ReplaceAll(d.TextOf(b), " | ", " / "), "\n", " "))
		}
		if all := strings.Join(got, "|"); all != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, all, c.want)
		}
	}
}

// TestBrokenTextFormats: what ends in the middle, or is none of the format that its name says, is read as far as
// it goes.
func TestBrokenTextFormats(t *testing.T) {
	for _, name := range []string{"a.rst", "a.adoc", "a.org", "a.tex", "a.man", "a.xml", "a.json", "a.rss", "a.srt", "a.rtf"} {
		for _, data := range []string{
			"plain words here", "{\"a\": [1, {\"b\": 2", "<a><b>text", "{\\rtf1 text \\", "|===\n|a |b", ".. code::", "+--+\n| a", "#+BEGIN_SRC\nx", "\\begin{tabular}\na & b",
			".TP\n.B", "{\\rtf1\\u", "====", "= \n=", "===\n=== \n===", "* ", "[[[", "1\n00:00:01,000 --> 00:00:02,000",
		} {
			_, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: name, Data: []byte(data)})
			if err != nil && ReasonOf(err) == "" {
				t.Errorf("%s, %q: %v is no reason", name, data, err)
			}
		}
	}
}
