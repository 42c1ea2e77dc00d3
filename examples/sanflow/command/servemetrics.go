package command

import (
	"fmt"
	"maps"
	"net/http"
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

// text is the metrics in the text format of Prometheus.
func (m *metrics) text(now *loaded, atWork int, of *events) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var t live.Text
	one := func(name, kind, help string, x any) {
		t.Metric("sanflow_"+name, kind, help)
		t.Sample("", x)
	}
	t.Metric("sanflow_requests_total", "counter", "Requests by status.")
	for _, status := range slices.Sorted(maps.Keys(m.requests)) {
		t.Sample("", m.requests[status], "code", strconv.Itoa(status))
	}
	one("answers_total", "counter", "Answers for graphs, nodes or links.", m.answers)
	one("unknown_words_total", "counter", "Words in requests that the model does not have.", m.unknown.Load())
	one("reloads_total", "counter", "Models that were loaded in place of another.", m.reloads.Load())
	one("reload_failures_total", "counter", "Files that changed and were not loaded.", m.reloadsFailed.Load())
	one("requests_at_work", "gauge", "Requests at work.", atWork)
	t.Metric("sanflow_model_info", "gauge", "The model that answers.")
	t.Sample("", 1, "file_sha256", now.fileSum, "stored_sha256", now.storedSum, "system", now.system)
	t.Metric("sanflow_request_seconds", "histogram", "Time of requests.")
	for i, most := range bounds {
		t.Sample("_bucket", m.buckets[i], "le", fmt.Sprint(most))
	}
	t.Sample("_bucket", m.timed, "le", "+Inf")
	t.Sample("_sum", m.seconds)
	t.Sample("_count", m.timed)
	of.text(&t)
	return t.Bytes()
}
