package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

// The kubelet's command takes a context from 1.34 on.
func kubeletCommand() *cobra.Command {
	var constructor any = app.NewKubeletCommand
	if withoutContext, ok := constructor.(func() *cobra.Command); ok {
		return withoutContext()
	}
	return constructor.(func(context.Context) *cobra.Command)(context.Background())
}

func init() {
	programs["kubelet"] = func() { os.Exit(cli.Run(kubeletCommand())) }
}
