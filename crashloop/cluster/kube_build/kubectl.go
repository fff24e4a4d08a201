package main

import (
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func init() {
	programs["kubectl"] = func() { util.CheckErr(cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand())) }
}
