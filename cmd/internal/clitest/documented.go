package clitest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// CheckDocumented fails the test unless every command line of a program in the documents, in a block or in a sentence,
// names an existing command with flags that it has, and at least least lines are found. newRoot returns the program's
// root command. (internal/endtoend runs the lines of blocks.)
func CheckDocumented(t *testing.T, newRoot func() *cobra.Command, least int) {
	t.Helper()
	program := newRoot().Name() + " "
	root := filepath.Join("..", "..")
	var paths []string
	for _, pattern := range []string{
		"*.md", "docs/*.md", "docs/evidence/*.md", "shipped/*.md", "shipped/demo/*.md", "training/*.md",
	} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	inline := regexp.MustCompile("`(" + program + "[^`]+)`")
	flag := regexp.MustCompile(`(?:^|\s)(--?[a-z][a-z0-9-]*)`)
	quoted := regexp.MustCompile(`"[^"]*"|'[^']*'`)
	checked := 0
	check := func(path, line string) {
		line, _, _ = strings.Cut(quoted.ReplaceAllString(line, `""`), "   #")
		words := strings.Fields(strings.SplitN(line, "|", 2)[0])
		names := []string{}
		for _, word := range words[1:] {
			if !regexp.MustCompile(`^[a-z]+$`).MatchString(word) {
				break
			}
			names = append(names, word)
		}
		command, _, err := newRoot().Find(names)
		if err != nil || command.Name()+" " == program && len(names) > 0 {
			t.Errorf("%s: %s: there is no such command", path, line)
			return
		}
		checked++
		for _, found := range flag.FindAllStringSubmatch(strings.Join(words, " "), -1) {
			name := strings.TrimLeft(found[1], "-")
			long := strings.HasPrefix(found[1], "--")
			if long && command.Flags().Lookup(name) == nil && command.InheritedFlags().Lookup(name) == nil ||
				!long && command.Flags().ShorthandLookup(name[:1]) == nil {
				t.Errorf("%s: %s: %s has no flag %s", path, line, command.CommandPath(), found[1])
			}
		}
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), "\\\n", " ")
		for line := range strings.Lines(text) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			if strings.HasPrefix(line, program) && strings.HasPrefix(text[max(0, strings.Index(text, line)-4):], "    ") {
				check(path, line)
			}
		}
		for _, found := range inline.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
			check(path, found[1])
		}
	}
	if checked < least {
		t.Errorf("only %d command lines were found", checked)
	}
}
