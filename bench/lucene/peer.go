package main

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

var (
	//go:embed LuceneBench.java
	program []byte
	//go:embed pom.xml
	pom []byte
)

// peer is the Java process.
type peer struct {
	command *exec.Cmd
	wishes  io.WriteCloser
	answers *bufio.Reader
}

// startPeer fetches Lucene where it is not there yet, compiles the peer and
// starts it in a folder with the files of passages and questions.
func startPeer(cache, folder string, k int) (*peer, error) {
	jars, err := fetch(cache)
	if err != nil {
		return nil, err
	}
	source := filepath.Join(folder, "LuceneBench.java")
	if err := os.WriteFile(source, program, 0o644); err != nil {
		return nil, err
	}
	classpath := filepath.Join(jars, "*")
	if out, err := exec.Command("javac", "-cp", classpath, "-d", folder, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compiling the peer (is a JDK of version 17 or newer installed?): %w\n%s", err, out)
	}
	p := &peer{command: exec.Command("java", "-Xmx6g", "-cp", folder+string(os.PathListSeparator)+classpath, "LuceneBench",
		filepath.Join(folder, "passages"), filepath.Join(folder, "questions"), filepath.Join(folder, "lucene"), strconv.Itoa(k))}
	p.command.Stderr = os.Stderr
	if p.wishes, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	answers, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = bufio.NewReaderSize(answers, 1<<20)
	return p, p.command.Start()
}

// fetch returns the folder with Lucene's jars.
func fetch(cache string) (string, error) {
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(base, "conclave", "bench")
	}
	jars := filepath.Join(cache, "lucene-9.12.1")
	if found, err := filepath.Glob(filepath.Join(jars, "lucene-*.jar")); err != nil || len(found) >= 2 {
		return jars, err
	}
	if err := os.MkdirAll(jars, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(jars, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return "", err
	}
	out, err := exec.Command("mvn", "-q", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+jars).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("fetching Lucene (is Maven installed, and Maven Central in reach?): %w\n%s", err, out)
	}
	return jars, nil
}

// ask sends a wish and returns the line that answers it.
func (p *peer) ask(wish string) (string, error) {
	if wish != "" {
		if _, err := fmt.Fprintln(p.wishes, wish); err != nil {
			return "", fmt.Errorf("asking the peer: %w", err)
		}
	}
	line, err := p.answers.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the peer's answer to %q: %w", wish, err)
	}
	return strings.TrimSpace(line), nil
}

func (p *peer) number(wish string) (float64, error) {
	line, err := p.ask(wish)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(line, 64)
}

func (p *peer) numbers(wish string) ([]float64, error) {
	line, err := p.ask(wish)
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, field := range strings.Fields(line) {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (p *peer) end() error { return errors.Join(p.wishes.Close(), p.command.Wait()) }
