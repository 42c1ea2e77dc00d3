package command

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	gometrics "runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks/live"
)

// bounds are those of the buckets of the histogram, in seconds.
var bounds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// metrics is what /metrics tells.
type metrics struct {
	unknown, reloads, reloadsFailed atomic.Int64

	mu       sync.Mutex
	requests map[int]int64 // by status
	answers  int64
	buckets  [len(bounds)]int64
	seconds  float64
	timed    int64
	last     [1024]time.Duration // a ring of the times of requests
}

// quantiles are the time within which half of the last requests were answered, and 99 % of these.
func (m *metrics) quantiles() (half, most time.Duration) {
	m.mu.Lock()
	last := slices.Clone(m.last[:min(m.timed, int64(len(m.last)))])
	m.mu.Unlock()
	if len(last) == 0 {
		return 0, 0
	}
	slices.Sort(last)
	return last[len(last)/2], last[len(last)*99/100]
}

// count counts a request; one that took 0 is not timed.
func (m *metrics) count(status, answers int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests = map[int]int64{}
	}
	m.requests[status]++
	m.answers += int64(answers)
	if took == 0 {
		return
	}
	m.last[m.timed%int64(len(m.last))] = took
	m.seconds, m.timed = m.seconds+took.Seconds(), m.timed+1
	for i, most := range bounds {
		if took.Seconds() <= most {
			m.buckets[i]++
		}
	}
}

// flow is the metrics as those of a pipeline: requests, which have answers or are refused.
func (m *metrics) flow(atWork int) flow.Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	in, predict := flow.StageStats{Stage: "requests"}, flow.StageStats{Stage: "predict"}
	for status, n := range m.requests {
		predict.RowsIn += n
		if status != http.StatusOK {
			predict.Refused += n
		}
	}
	predict.RecordsIn, predict.RowsOut, predict.Busy = predict.RowsIn, m.answers, time.Duration(m.seconds*float64(time.Second))
	predict.Notes = map[string]int64{"reloads": m.reloads.Load(), "reloads that failed": m.reloadsFailed.Load(), "unknown words": m.unknown.Load()}
	in.RowsOut = predict.RowsIn + int64(atWork)
	in.RecordsOut = in.RowsOut
	return flow.Stats{Stages: []flow.StageStats{in, predict}, Done: -1, Read: -1}
}

// began is about when the process began.
var began = time.Now()

// memoryOf are the bytes of the heap that objects take, and those that the program has from the system.
func memoryOf() [2]uint64 {
	of := []gometrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	gometrics.Read(of)
	return [2]uint64{of[0].Value.Uint64(), of[1].Value.Uint64()}
}

// text is the metrics in the text format of Prometheus.
func (m *metrics) text(now *loaded, atWork int, of *events) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var t live.Text
	t.Metric("sanflow_requests_total", "counter", "Requests by status.")
	for _, status := range slices.Sorted(maps.Keys(m.requests)) {
		t.Sample("", m.requests[status], "code", strconv.Itoa(status))
	}
	t.One("sanflow_answers_total", "counter", "Answers for graphs, nodes or links.", m.answers)
	t.One("sanflow_unknown_words_total", "counter", "Words in requests that the model does not have.", m.unknown.Load())
	t.One("sanflow_reloads_total", "counter", "Models that were loaded in place of another.", m.reloads.Load())
	t.One("sanflow_reload_failures_total", "counter", "Files that changed and were not loaded.", m.reloadsFailed.Load())
	t.One("sanflow_requests_at_work", "gauge", "Requests at work.", atWork)
	t.Metric("sanflow_build_info", "gauge", "The program.")
	build, _ := debug.ReadBuildInfo()
	t.Sample("", 1, "version", build.Main.Version, "goversion", build.GoVersion)
	memory := memoryOf()
	t.One("process_start_time_seconds", "gauge", "Time of the start, since 1970.", began.Unix())
	t.One("go_goroutines", "gauge", "Goroutines.", runtime.NumGoroutine())
	t.One("go_memstats_heap_inuse_bytes", "gauge", "Bytes of the heap that objects take.", memory[0])
	t.One("go_memstats_sys_bytes", "gauge", "Bytes that the program has from the system.", memory[1])
	t.Metric("sanflow_model_info", "gauge", "The model that answers.")
	t.Sample("", 1, "file_sha256", now.fileSum, "stored_sha256", now.storedSum, "system", now.system)
	t.Metric("sanflow_request_seconds", "histogram", "Time of requests.")
	for i, most := range bounds {
		t.Sample("_bucket", m.buckets[i], "le", fmt.Sprint(most))
	}
	t.Sample("_bucket", m.timed, "le", "+Inf")
	t.Sample("_sum", m.seconds)
	t.Sample("_count", m.timed)
	if of.live != nil {
		of.live.Stats().Text(&t)
	}
	return t.Bytes()
}
