// Command functions makes a domain of code: functions of Go, to be found by what they do.
//
//	go run ./research/bench/gate/functions OUT.passages.jsonl OUT.questions.jsonl FOLDER...
//
// The question is the first sentence of a function's comment without the function's name, the passage the function
// without comments. FOLDERs are trees of Go source, such as `go env GOROOT`/src and this repository: what comes out
// depends on their versions.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	passages, questions      = 3000, 2000
	leastWords, mostWords    = 4, 40 // of a question
	leastSource, mostSource  = 60, 3000
	fewestLines              = 3
	leftOut, vendored, tests = "testdata", "vendor", "_test.go"
)

// function is a function with its question.
type function struct {
	question, source string
	key              uint64 // of a shuffle that stays the same
}

// main makes passages and questions of functions by its arguments (run), and exits with status 1 on an error.
func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes passages and questions made of the functions with comments in folders of Go code: args is the file of
// passages, the file of questions and one folder or more. Equal questions or functions count once, tests and vendored
// code not at all. It replaces the files. It fails if args are fewer, a folder cannot be read or a file cannot be
// written.
func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: functions PASSAGES QUESTIONS FOLDER [FOLDER …]")
	}
	var found []function
	seen := make(map[string]bool)
	for _, folder := range args[2:] {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			switch name := entry.Name(); {
			case err != nil:
				return err
			case entry.IsDir() && (name == leftOut || name == vendored):
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, tests):
				return nil
			}
			for _, f := range functionsOf(path) {
				if !seen[f.question] && !seen[f.source] {
					seen[f.question], seen[f.source] = true, true
					found = append(found, f)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(found, func(a, b function) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	found = found[:min(passages, len(found))]
	texts, asked := new(bytes.Buffer), new(bytes.Buffer)
	for i, f := range found {
		id := fmt.Sprintf("go%d", i)
		if err := json.NewEncoder(texts).Encode(map[string]any{"id": id, "text": f.source}); err != nil {
			return err
		}
		if i >= questions {
			continue
		}
		question := map[string]any{"id": fmt.Sprintf("q%d", i), "question": f.question, "positive_ids": []string{id}}
		if err := json.NewEncoder(asked).Encode(question); err != nil {
			return err
		}
	}
	fmt.Printf("%d functions, %d questions\n", len(found), min(questions, len(found)))
	if err := os.WriteFile(args[0], texts.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(args[1], asked.Bytes(), 0o644)
}

// functionsOf returns the functions of a Go file that have a comment of a usable length as their question; nil if the
// file cannot be parsed.
func functionsOf(path string) (found []function) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		return nil
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Doc == nil || f.Body == nil || len(f.Body.List) == 0 {
			continue
		}
		question := questionOf(f.Name.Name, f.Doc.Text())
		f.Doc = nil
		var source bytes.Buffer
		if printer.Fprint(&source, files, f) != nil {
			continue
		}
		n := len(strings.Fields(question))
		lines := bytes.Count(source.Bytes(), []byte("\n"))
		if n < leastWords || n > mostWords || lines < fewestLines || source.Len() < leastSource || source.Len() > mostSource {
			continue
		}
		key := fnv.New64a()
		_, _ = key.Write([]byte(question))
		found = append(found, function{question, source.String(), key.Sum64()})
	}
	return found
}

// questionOf returns the first sentence of a comment, without the name of its function.
func questionOf(name, comment string) string {
	paragraph, _, _ := strings.Cut(comment, "\n\n")
	sentence, _, _ := strings.Cut(strings.Join(strings.Fields(paragraph), " "), ". ")
	first, rest, _ := strings.Cut(sentence, " ")
	if first == name {
		sentence = rest
	}
	return strings.TrimSuffix(sentence, ".")
}
