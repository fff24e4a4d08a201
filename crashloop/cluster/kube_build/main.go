// Command kube holds the programs of a small cluster in one binary; argv[0] chooses one.
//
// Each program is a file of its own that registers itself, so that a build can take only the files it needs.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

var programs = map[string]func(){}

func main() {
	name := filepath.Base(os.Args[0])
	run, found := programs[name]
	if !found {
		fmt.Fprintf(os.Stderr, "%q is not built in: start this binary under the name of a program, for example by a symbolic link.\n", name)
		os.Exit(2)
	}
	run()
}
