// Command client_go drives client-go's own flowcontrol.Backoff with a fake clock, as the kubelet does.
//
// Standard input: one JSON object a line, {"initial_ms", "maximum_ms", "lives_ms": [...], "collects"}: how long each
// instance of a container ran, and whether old entries are collected while it waits. Standard output: one JSON array a line, for each restart how long the container was kept waiting (ms), looked at once a second.
// The kubelet's own rules around it (expiry after 600 s, collection every 2 s, Next at the start attempt) are those of
// pkg/kubelet/kubelet.go and pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.1.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	testingclock "k8s.io/utils/clock/testing"
)

const (
	key          = "container"
	resetAfter   = 600 * time.Second
	collectEvery = 2 * time.Second
	step         = time.Second
)

type sequence struct {
	InitialMs int64   `json:"initial_ms"`
	MaximumMs int64   `json:"maximum_ms"`
	LivesMs   []int64 `json:"lives_ms"`
	Collects  bool    `json:"collects"`
}

func waits(s sequence) []int64 {
	clock := testingclock.NewFakeClock(time.Unix(1_700_000_000, 0))
	backoff := flowcontrol.NewFakeBackOff(time.Duration(s.InitialMs)*time.Millisecond, time.Duration(s.MaximumMs)*time.Millisecond, clock)
	backoff.HasExpiredFunc = func(eventTime, lastUpdate time.Time, maximum time.Duration) bool {
		return eventTime.Sub(lastUpdate) > resetAfter
	}
	lastCollection := clock.Now()
	advance := func(d time.Duration) {
		clock.Step(d)
		if s.Collects && clock.Since(lastCollection) >= collectEvery {
			backoff.GC()
			lastCollection = clock.Now()
		}
	}
	result := make([]int64, 0, len(s.LivesMs))
	for _, life := range s.LivesMs {
		for left := time.Duration(life) * time.Millisecond; left > 0; left -= collectEvery {
			advance(min(left, collectEvery))
		}
		finished := clock.Now()
		for backoff.IsInBackOffSince(key, finished) {
			advance(step)
		}
		backoff.Next(key, finished)
		result = append(result, clock.Since(finished).Milliseconds())
	}
	return result
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var s sequence
		if err := json.Unmarshal(in.Bytes(), &s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		line, _ := json.Marshal(waits(s))
		fmt.Fprintln(out, string(line))
	}
}
