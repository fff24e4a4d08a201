// Command rewriter makes mutants of Go functions and puts all of them into the packages of these functions.
//
//	rewriter FOLDER < request.json
//
// It writes the rewritten files to their targets, and mutants.json into the folder. Each mutant is a
// copy of its function with one change. At its beginning the function calls the copy whose number is in the environment
// variable MUTANT; without that variable a program behaves as if nothing had been rewritten.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Request is the standard input.
type Request struct {
	Files []File `json:"files"`
	// Elsewhere are identifiers: a statement that mentions one of them has nothing to do with restarts.
	Elsewhere []string `json:"elsewhere"`
	// Without are ids of mutants to leave out, since they do not compile.
	Without []string `json:"without"`
}

// File is a source file, and what is rewritten in it.
type File struct {
	Path string `json:"path"`
	// Target is the path of the rewritten file.
	Target    string     `json:"target"`
	Functions []Function `json:"functions"`
}

// Function is a function or method to make mutants of.
type Function struct {
	// Name is such as Next, or Backoff.Next for a method.
	Name string `json:"name"`
	// Only restricts the mutants to statements that mention one of these identifiers.
	Only []string `json:"only"`
	// Constants of the same file are changed as if their values stood in the function.
	Constants []string `json:"constants"`
	// Edits are made instead of all mutants, where there are some.
	Edits []Edit `json:"edits"`
}

// Edit is a mutant that is made of replacements in its function.
type Edit struct {
	// Number is shared by the edits of one mutant.
	Number  int           `json:"number"`
	ID      string        `json:"id"`
	Changes []Replacement `json:"changes"`
}

// Replacement is the text that stands once in a function, and the one that takes its place.
type Replacement struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Mutant is an entry of mutants.json.
type Mutant struct {
	Number   int    `json:"number"`
	ID       string `json:"id"`
	Function string `json:"function"`
	Line     int    `json:"line"`
	Operator string `json:"operator"`
	Before   string `json:"before"`
	After    string `json:"after"`
	// Refused says why an edit cannot be made; there is no such mutant.
	Refused string `json:"refused"`
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("rewriter: %d arguments; expected FOLDER", len(os.Args)-1))
	}
	if err := run(os.Args[1]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

func run(folder string) error {
	var request Request
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return fmt.Errorf("rewriter: standard input: %w", err)
	}
	without := set(request.Without)
	mutants, last := []Mutant{}, 0
	for _, file := range request.Files {
		source, err := os.ReadFile(file.Path)
		if err != nil {
			return fmt.Errorf("rewriter: %w", err)
		}
		text, made, number, err := Rewrite(file, source, set(request.Elsewhere), without, last)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file.Target, text, 0o644); err != nil {
			return err
		}
		mutants, last = append(mutants, made...), number
	}
	text, err := json.MarshalIndent(mutants, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "mutants.json"), append(text, '\n'), 0o644)
}

func set(names []string) map[string]bool {
	found := map[string]bool{}
	for _, name := range names {
		found[name] = true
	}
	return found
}
