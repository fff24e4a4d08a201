package main

import (
	"fmt"
	"os"

	"k8s.io/kubernetes/cmd/kubeadm/app"
)

// kubeadm's own error handler lives in a package that moved between the versions that are built here.
func runKubeadm() {
	if err := app.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func init() {
	programs["kubeadm"] = runKubeadm
}
