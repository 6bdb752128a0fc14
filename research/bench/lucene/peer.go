package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"example.org/conclave/research/bench/peer"
)

var (
	//go:embed LuceneBench.java
	program []byte
	//go:embed pom.xml
	pom []byte
)

// startPeer compiles the Java program LuceneBench, which answers each question with k hits, and starts it. folder must
// have the files "passages" and "questions" (writeLines); the compiled program and its index go there, too. If the
// folder cache ("": the user's cache folder) lacks Lucene, startPeer downloads it with Maven. It fails if that is not
// possible, or without a JDK of version 17 or newer.
func startPeer(cache, folder string, k int) (*peer.Process, error) {
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
	return peer.Start(exec.Command(
		"java", "-Xmx6g", "-cp", folder+string(os.PathListSeparator)+classpath, "LuceneBench",
		filepath.Join(folder, "passages"), filepath.Join(folder, "questions"), filepath.Join(folder, "lucene"),
		strconv.Itoa(k),
	))
}

// fetch returns the folder with Lucene's jars below cache, which it downloads with Maven if they are not there. ""
// stands for the user's cache folder. It fails if Maven is missing or reaches no repository.
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
	out, err := exec.Command("mvn", "-q", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+jars).
		CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("fetching Lucene (is Maven installed, and Maven Central in reach?): %w\n%s", err, out)
	}
	return jars, nil
}
