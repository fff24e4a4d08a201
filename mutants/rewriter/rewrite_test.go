package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const small = `package main

import "fmt"

const limit = 10 * 3

type counter struct{ count int }

func (c *counter) next(step int, tags ...string) (int, bool) {
	log("next")
	if step < 1 || len(tags) == 0 {
		return 0, false
	}
	c.count += step * 2
	return c.count, true
}

func max() int {
	return limit
}

func log(text string) { fmt.Println(text) }

func main() {
	c := counter{}
	fmt.Println(c.next(1, "a"))
	fmt.Println(max())
}
`

var request = File{
	Path:      "small.go",
	Functions: []Function{{Name: "counter.next"}, {Name: "max", Constants: []string{"limit"}}},
}

func rewritten(t *testing.T, without ...string) (string, []Mutant) {
	t.Helper()
	text, mutants, last, err := Rewrite(request, []byte(small), set([]string{"log"}), set(without), 0)
	if err != nil {
		t.Fatal(err)
	}
	if last != 25 {
		t.Fatalf("the last number is %d; 25 was expected", last)
	}
	return string(text), mutants
}

func TestEveryChangeIsAMutant(t *testing.T) {
	_, mutants := rewritten(t)
	var got []string
	for _, each := range mutants {
		line := fmt.Sprintf("%d %s: %s -> %s", each.Number, each.ID, each.Before, each.After)
		got = append(got, strings.TrimSpace(line))
	}
	want := strings.Split(strings.TrimSpace(`
1 counter.next-11-5-negate: step < 1 || len(tags) == 0 -> !(step < 1 || len(tags) == 0)
2 counter.next-11-10-bound: < -> <=
3 counter.next-11-12-plus-1: 1 -> 2
4 counter.next-11-12-minus-1: 1 -> (0)
5 counter.next-11-14-logic: || -> &&
6 counter.next-11-27-equality: == -> !=
7 counter.next-11-30-plus-1: 0 -> 1
8 counter.next-11-30-minus-1: 0 -> (-1)
9 counter.next-12-3-drop: return 0, false ->
10 counter.next-12-10-plus-1: 0 -> 1
11 counter.next-12-10-minus-1: 0 -> (-1)
12 counter.next-12-13-boolean: false -> true
13 counter.next-14-2-drop: c.count += step * 2 ->
14 counter.next-14-10-arithmetic: += -> -=
15 counter.next-14-18-arithmetic: * -> /
16 counter.next-14-20-plus-1: 2 -> 3
17 counter.next-14-20-minus-1: 2 -> (1)
18 counter.next-14-20-times-2: 2 -> 4
19 counter.next-15-18-boolean: true -> false
20 max-5-15-plus-1: limit -> (11 * 3)
21 max-5-15-minus-1: limit -> ((9) * 3)
22 max-5-15-times-2: limit -> (20 * 3)
23 max-5-20-plus-1: limit -> (10 * 4)
24 max-5-20-minus-1: limit -> (10 * (2))
25 max-5-20-times-2: limit -> (10 * 6)
`), "\n")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\n\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheVariableSwitchesAMutantOn(t *testing.T) {
	text, mutants := rewritten(t)
	folder := t.TempDir()
	program := filepath.Join(folder, "small")
	if err := os.WriteFile(filepath.Join(folder, "small.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, "small.go")
	build.Dir = folder
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for id, want := range map[string]string{
		"":                           "next\n2 true\n30\n",
		"counter.next-11-10-bound":   "next\n0 false\n30\n",
		"counter.next-14-2-drop":     "next\n0 true\n30\n",
		"counter.next-14-20-times-2": "next\n4 true\n30\n",
		"max-5-15-plus-1":            "next\n2 true\n33\n",
	} {
		run := exec.Command(program)
		run.Env = append(os.Environ(), Variable+"="+numberOf(t, mutants, id))
		output, err := run.CombinedOutput()
		if err != nil || string(output) != want {
			t.Errorf("%q: %v, %q; %q was expected", id, err, output, want)
		}
	}
}

func TestWhatIsLeftOutKeepsItsNumber(t *testing.T) {
	_, all := rewritten(t)
	text, mutants := rewritten(t, all[0].ID)
	if len(mutants) != len(all)-1 || mutants[0] != all[1] {
		t.Errorf("got %v; everything after %v was expected", mutants, all[0])
	}
	if strings.Contains(text, "mutant-1.go") {
		t.Error("the text has the mutant that was left out")
	}
}

func TestOnlyKeepsToWhatIsMentioned(t *testing.T) {
	file := File{Path: "small.go", Functions: []Function{{Name: "counter.next", Only: []string{"tags"}}}}
	_, mutants, _, err := Rewrite(file, []byte(small), nil, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range mutants {
		if each.Line != 11 {
			t.Errorf("%s is outside of the condition on line 11", each.ID)
		}
	}
	if len(mutants) == 0 {
		t.Error("there are no mutants; the condition was expected to have some")
	}
}

func TestAnUnknownFunctionIsRefused(t *testing.T) {
	file := File{Path: "small.go", Functions: []Function{{Name: "counter.last"}}}
	_, _, _, err := Rewrite(file, []byte(small), nil, nil, 0)
	want := "rewriter: small.go: no function counter.last; expected one with a body"
	if err == nil || err.Error() != want {
		t.Errorf("got %v; %q was expected", err, want)
	}
}

// numberOf gives the number of a mutant; nothing for none.
func numberOf(t *testing.T, mutants []Mutant, id string) string {
	t.Helper()
	for _, each := range mutants {
		if each.ID == id {
			return fmt.Sprint(each.Number)
		}
	}
	if id != "" {
		t.Fatalf("there is no mutant %s", id)
	}
	return ""
}

func TestAnEditIsMadeWhereItsTextStandsOnceAndNamedElsewhere(t *testing.T) {
	edit := func(number int, before string) Edit {
		changes := []Replacement{{Before: before, After: "return 0, true"}}
		return Edit{Number: number, ID: fmt.Sprint("bug-", number), Changes: changes}
	}
	file := File{Path: "small.go", Functions: []Function{
		{Name: "counter.next", Edits: []Edit{edit(7, "return 0, false"), edit(8, "return"), edit(9, "gone")}},
		{Name: "removed", Edits: []Edit{edit(10, "x")}},
	}}
	text, mutants, _, err := Rewrite(file, []byte(small), map[string]bool{}, map[string]bool{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	reasons := []string{
		"", "\"return\" stands 2 times in counter.next; expected once",
		"\"gone\" stands 0 times in counter.next; expected once", "no function removed",
	}
	for position, reason := range reasons {
		if mutants[position].Refused != reason {
			t.Errorf("%s: %q; expected %q", mutants[position].ID, mutants[position].Refused, reason)
		}
	}
	if len(mutants) != len(reasons) || !strings.Contains(string(text), "next_mutant7") {
		t.Errorf("%d mutants in\n%s", len(mutants), text)
	}
	if strings.Contains(string(text), "_mutant8") || strings.Contains(string(text), "_mutant1") {
		t.Errorf("a refused edit or another mutant stands in\n%s", text)
	}
}
