package live

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow"
)

// mostSeries bounds the stages with own values. Further stages share one.
const mostSeries = 500

type series struct{ role, stage string }

// totals has the sums over runs, by role and stage.
type totals map[series]flow.StageStats

func (t *totals) add(role string, s flow.Stats) {
	if *t == nil {
		*t = totals{}
	}
	for _, stage := range s.Stages {
		key := series{clip(role), clip(stage.Stage)}
		if _, known := (*t)[key]; !known && len(*t) >= mostSeries {
			key = series{"", "others"}
		}
		sum := (*t)[key]
		sum.RecordsIn += stage.RecordsIn
		sum.RecordsOut += stage.RecordsOut
		sum.RowsIn += stage.RowsIn
		sum.RowsOut += stage.RowsOut
		sum.BytesOut += stage.BytesOut
		sum.Refused += stage.Refused
		sum.Busy += stage.Busy
		sum.Waiting += stage.Waiting
		sum.Blocked += stage.Blocked
		notes := maps.Clone(sum.Notes)
		for event, n := range stage.Notes {
			if event = clip(event); notes == nil {
				notes = map[string]int64{}
			}
			if _, known := notes[event]; known || len(notes) < mostNotes {
				notes[event] += n
			}
		}
		sum.Notes = notes
		(*t)[key] = sum
	}
}

// metrics returns the counts in the text format of Prometheus.
func (p *Page) metrics() []byte {
	p.mu.Lock()
	now, lag, atWork, count := maps.Clone(p.total), map[series]int64{}, len(p.runs), p.count
	for _, r := range p.runs {
		s := r.work.Stats()
		now.add(r.name, s)
		for _, stage := range s.Stages {
			if stage.Lag > 0 && len(lag) < mostSeries {
				lag[series{clip(r.name), clip(stage.Stage)}] += stage.Lag
			}
		}
	}
	p.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(now), func(a, b series) int { return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.stage, b.stage)) })
	var t Text
	sample := func(k series, x any, label ...string) {
		t.Sample("", x, append([]string{"role", k.role, "stage", k.stage}, label...)...)
	}
	t.Metric("sanflow_stage_records_total", "counter", "Records that came into, or went out of, a stage.")
	for _, k := range keys {
		sample(k, now[k].RecordsIn, "direction", "in")
		sample(k, now[k].RecordsOut, "direction", "out")
	}
	t.Metric("sanflow_stage_rows_total", "counter", "Rows that came into, or went out of, a stage.")
	for _, k := range keys {
		sample(k, now[k].RowsIn, "direction", "in")
		sample(k, now[k].RowsOut, "direction", "out")
	}
	t.Metric("sanflow_stage_bytes_total", "counter", "Bytes of the buffers behind the records that went out of a stage.")
	for _, k := range keys {
		sample(k, now[k].BytesOut)
	}
	t.Metric("sanflow_stage_refused_total", "counter", "Rows that a stage refused.")
	for _, k := range keys {
		sample(k, now[k].Refused)
	}
	t.Metric("sanflow_stage_seconds_total", "counter", "Time in a stage's own code, summed over workers, waiting for records, and for others to take them.")
	for _, k := range keys {
		sample(k, now[k].Busy.Seconds(), "state", "busy")
		sample(k, now[k].Waiting.Seconds(), "state", "waiting")
		sample(k, now[k].Blocked.Seconds(), "state", "blocked")
	}
	t.Metric("sanflow_stage_events_total", "counter", "Events that a stage has noted.")
	for _, k := range keys {
		for _, event := range slices.Sorted(maps.Keys(now[k].Notes)) {
			sample(k, now[k].Notes[event], "event", event)
		}
	}
	t.Metric("sanflow_stage_lag", "gauge", "Messages that wait to be read by a source.")
	for _, k := range keys {
		if lag[k] > 0 {
			sample(k, lag[k])
		}
	}
	t.One("sanflow_runs", "gauge", "Runs at work.", atWork)
	t.Metric("sanflow_runs_total", "counter", "Runs that have ended.")
	t.Sample("", count[0]-count[1], "result", "ended")
	t.Sample("", count[1], "result", "failed")
	return t.Bytes()
}

// Text writes metrics in the text format of Prometheus, version 0.0.4. The zero value is
// ready.
//
//	var t live.Text
//	t.Metric("myprogram_requests_total", "counter", "Requests by status.")
//	t.Sample("", 7, "code", "200")
type Text struct {
	b    bytes.Buffer
	name string
}

// ContentType is the header Content-Type of an answer that a Text has written.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

var (
	escape     = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	escapeHelp = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// Metric begins a metric: a counter, a gauge or a histogram.
func (t *Text) Metric(name, kind, help string) {
	t.name = name
	fmt.Fprintf(&t.b, "# HELP %s %s\n# TYPE %s %s\n", name, escapeHelp.Replace(strings.ToValidUTF8(help, "\ufffd")), name, kind)
}

// Sample writes a number of the metric that was begun last. suffix is "", or of a histogram
// "_bucket", "_sum" or "_count"; labels are names and values in turn, where values may be any
// text.
func (t *Text) Sample(suffix string, x any, labels ...string) {
	var pairs []string
	for i := 1; i < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf(`%s="%s"`, labels[i-1], escape.Replace(strings.ToValidUTF8(labels[i], "\ufffd"))))
	}
	all := ""
	if len(pairs) > 0 {
		all = "{" + strings.Join(pairs, ",") + "}"
	}
	fmt.Fprintf(&t.b, "%s%s%s %v\n", t.name, suffix, all, x)
}

// One writes a metric of one number.
func (t *Text) One(name, kind, help string, x any) {
	t.Metric(name, kind, help)
	t.Sample("", x)
}

// Bytes returns what was written.
func (t *Text) Bytes() []byte { return t.b.Bytes() }
