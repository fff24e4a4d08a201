package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"sort"
	"strings"
)

// Variable is the environment variable that holds the number of the mutant that a program is to be.
const Variable = "MUTANT"

const shown = 160

// Rewrite gives the text of a file with mutants of its functions, and describes them. Numbers continue after `last`, whose
// new value is returned.
//
// A copy stands behind a `//line` directive, so that the compiler and a panic name the mutant instead of the file.
func Rewrite(file File, source []byte, elsewhere, without map[string]bool, last int) ([]byte, []Mutant, int, error) {
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, file.Path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, last, fmt.Errorf("rewriter: %w", err)
	}
	offset := func(at token.Pos) int { return positions.Position(at).Offset }
	text := func(from, to token.Pos) string { return string(source[offset(from):offset(to)]) }
	variable := "mutant_" + strings.NewReplacer(".", "_", "-", "_").Replace(filepath.Base(file.Path))
	var mutants []Mutant
	number, seen := last, map[string]bool{}
	inserts := map[int]string{
		offset(parsed.Name.End()): "; import mutant_os \"os\"",
	}
	var copies strings.Builder
	fmt.Fprintf(&copies, "\nvar %s = mutant_os.Getenv(%q)\n", variable, Variable)
	for _, wanted := range file.Functions {
		function := find(parsed, wanted.Name)
		if function == nil && len(wanted.Edits) > 0 {
			for _, edit := range wanted.Edits {
				mutants = append(mutants, refused(edit, wanted.Name, "no function "+wanted.Name))
			}
			continue
		}
		if function == nil {
			return nil, nil, last, fmt.Errorf("rewriter: %s: no function %s; expected one with a body", file.Path, wanted.Name)
		}
		call, err := callOf(function)
		if err != nil {
			return nil, nil, last, fmt.Errorf("rewriter: %s: %w", file.Path, err)
		}
		constants, err := valuesOf(parsed, wanted.Constants)
		if err != nil {
			return nil, nil, last, fmt.Errorf("rewriter: %s: %w", file.Path, err)
		}
		var cases strings.Builder
		for _, edit := range wanted.Edits {
			if without[edit.ID] {
				continue
			}
			body, reason := edited(text(function.Name.End(), function.End()), edit, wanted.Name)
			if reason != "" {
				mutants = append(mutants, refused(edit, wanted.Name, reason))
				continue
			}
			line := positions.Position(function.Pos()).Line
			name := fmt.Sprintf("%s_mutant%d", function.Name.Name, edit.Number)
			mutants = append(mutants, Mutant{
				Number: edit.Number, ID: edit.ID, Function: wanted.Name, Line: line, Operator: "edit",
				Before: short(edit.Changes[0].Before), After: short(edit.Changes[0].After),
			})
			fmt.Fprintf(&cases, "case %q: %s;", fmt.Sprint(edit.Number), call(name))
			fmt.Fprintf(&copies, "\n//line mutant-%d.go:%d\n%s%s%s\n", edit.Number, line,
				text(function.Pos(), function.Name.Pos()), name, body)
		}
		for _, each := range changesOf(function, wanted, elsewhere, constants, text) {
			at := positions.Position(each.at)
			id := fmt.Sprintf("%s-%d-%d-%s", wanted.Name, at.Line, at.Column, each.operator)
			if seen[id] {
				return nil, nil, last, fmt.Errorf("rewriter: %s: two changes are called %s", file.Path, id)
			}
			seen[id] = true
			number++ // also for what is left out, so that the others keep their numbers
			if without[id] {
				continue
			}
			mutants = append(mutants, Mutant{
				Number: number, ID: id, Function: wanted.Name, Line: at.Line, Operator: each.operator,
				Before: short(text(each.from, each.to)), After: short(each.text),
			})
			name := fmt.Sprintf("%s_mutant%d", function.Name.Name, number)
			fmt.Fprintf(&cases, "case %q: %s;", fmt.Sprint(number), call(name))
			fmt.Fprintf(&copies, "\n//line mutant-%d.go:%d\n%s%s%s%s%s\n", number, positions.Position(function.Pos()).Line,
				text(function.Pos(), function.Name.Pos()), name, text(function.Name.End(), each.from), each.text,
				text(each.to, function.End()))
		}
		inserts[offset(function.Body.Lbrace)+1] = fmt.Sprintf(" switch %s { case \"\": %s};", variable, cases.String())
	}
	return append(insert(source, inserts), copies.String()...), mutants, number, nil
}

func changesOf(
	function *ast.FuncDecl, wanted Function, elsewhere map[string]bool, constants map[string]ast.Expr,
	text func(from, to token.Pos) string,
) []change {
	f := finder{
		text: text, elsewhere: elsewhere, only: set(wanted.Only), constants: constants, conditions: map[ast.Expr]bool{},
	}
	if statements := function.Body.List; len(statements) > 0 {
		f.last = statements[len(statements)-1]
	}
	if len(wanted.Edits) == 0 {
		f.block(function.Body.List, false)
	}
	sort.SliceStable(f.found, func(i, j int) bool { return f.found[i].from < f.found[j].from })
	return f.found
}

// edited gives the function with its replacements, or the reason why one of them has no place in it.
func edited(body string, edit Edit, function string) (string, string) {
	for _, each := range edit.Changes {
		if times := strings.Count(body, each.Before); times != 1 {
			return "", fmt.Sprintf("%q stands %d times in %s; expected once", short(each.Before), times, function)
		}
		body = strings.Replace(body, each.Before, each.After, 1)
	}
	return body, ""
}

func refused(edit Edit, function, reason string) Mutant {
	return Mutant{Number: edit.Number, ID: edit.ID, Function: function, Operator: "edit", Refused: reason}
}

// find returns a function by its name, or a method by its type and name.
func find(file *ast.File, name string) *ast.FuncDecl {
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if ok && function.Body != nil && nameOf(function) == name {
			return function
		}
	}
	return nil
}

func nameOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	if named, ok := receiver.(*ast.Ident); ok {
		return named.Name + "." + function.Name.Name
	}
	return ""
}

// callOf gives the statement that calls a copy of the function with its own arguments.
func callOf(function *ast.FuncDecl) (func(name string) string, error) {
	if function.Type.TypeParams != nil {
		return nil, fmt.Errorf("%s has type parameters; expected none", function.Name.Name)
	}
	receiver := ""
	if function.Recv != nil {
		names := function.Recv.List[0].Names
		if len(names) == 0 || names[0].Name == "_" {
			return nil, fmt.Errorf("%s has a receiver without a name; expected one", function.Name.Name)
		}
		receiver = names[0].Name + "."
	}
	var arguments []string
	for _, field := range function.Type.Params.List {
		if len(field.Names) == 0 {
			return nil, fmt.Errorf("%s has a parameter without a name; expected names", function.Name.Name)
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				return nil, fmt.Errorf("%s has a parameter without a name; expected names", function.Name.Name)
			}
			argument := name.Name
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				argument += "..."
			}
			arguments = append(arguments, argument)
		}
	}
	hasResults := function.Type.Results != nil
	return func(name string) string {
		call := fmt.Sprintf("%s%s(%s)", receiver, name, strings.Join(arguments, ", "))
		if hasResults {
			return "return " + call
		}
		return call + "; return"
	}, nil
}

// valuesOf gives the values of constants and variables of a file.
func valuesOf(file *ast.File, names []string) (map[string]ast.Expr, error) {
	values := map[string]ast.Expr{}
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			if each, ok := spec.(*ast.ValueSpec); ok && len(each.Values) == len(each.Names) {
				for position, name := range each.Names {
					values[name.Name] = each.Values[position]
				}
			}
		}
	}
	wanted := map[string]ast.Expr{}
	for _, name := range names {
		if values[name] == nil {
			return nil, fmt.Errorf("no constant %s with a value; expected one", name)
		}
		wanted[name] = values[name]
	}
	return wanted, nil
}

func insert(source []byte, inserts map[int]string) []byte {
	offsets := make([]int, 0, len(inserts))
	for offset := range inserts {
		offsets = append(offsets, offset)
	}
	sort.Ints(offsets)
	var out bytes.Buffer
	done := 0
	for _, offset := range offsets {
		out.Write(source[done:offset])
		out.WriteString(inserts[offset])
		done = offset
	}
	out.Write(source[done:])
	return out.Bytes()
}

func short(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if runes := []rune(line); len(runes) > shown {
		return string(runes[:shown-3]) + "..."
	}
	return line
}
