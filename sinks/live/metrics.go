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

// mostSeries is how many stages have values of their own; others share one.
const mostSeries = 500

type series struct{ role, stage string }

// totals are the sums over runs, by role and stage.
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

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// metrics is the counts in the text format of Prometheus.
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
	w := new(bytes.Buffer)
	keys := slices.SortedFunc(maps.Keys(now), func(a, b series) int { return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.stage, b.stage)) })
	head := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP sanflow_%s %s\n# TYPE sanflow_%s %s\n", name, help, name, kind)
	}
	line := func(name string, k series, label, value string, x any) {
		if label != "" {
			label = fmt.Sprintf(`,%s="%s"`, label, escape.Replace(value))
		}
		fmt.Fprintf(w, "sanflow_%s{role=\"%s\",stage=\"%s\"%s} %v\n", name, escape.Replace(k.role), escape.Replace(k.stage), label, x)
	}
	head("stage_records_total", "counter", "Records that came into, or went out of, a stage.")
	for _, k := range keys {
		line("stage_records_total", k, "direction", "in", now[k].RecordsIn)
		line("stage_records_total", k, "direction", "out", now[k].RecordsOut)
	}
	head("stage_rows_total", "counter", "Rows that came into, or went out of, a stage.")
	for _, k := range keys {
		line("stage_rows_total", k, "direction", "in", now[k].RowsIn)
		line("stage_rows_total", k, "direction", "out", now[k].RowsOut)
	}
	head("stage_bytes_total", "counter", "Bytes of the buffers behind the records that went out of a stage.")
	for _, k := range keys {
		line("stage_bytes_total", k, "", "", now[k].BytesOut)
	}
	head("stage_refused_total", "counter", "Rows that a stage refused.")
	for _, k := range keys {
		line("stage_refused_total", k, "", "", now[k].Refused)
	}
	head("stage_seconds_total", "counter", "Time in a stage's own code, summed over workers, waiting for records, and for others to take them.")
	for _, k := range keys {
		line("stage_seconds_total", k, "state", "busy", now[k].Busy.Seconds())
		line("stage_seconds_total", k, "state", "waiting", now[k].Waiting.Seconds())
		line("stage_seconds_total", k, "state", "blocked", now[k].Blocked.Seconds())
	}
	head("stage_events_total", "counter", "Events that a stage has noted.")
	for _, k := range keys {
		for _, event := range slices.Sorted(maps.Keys(now[k].Notes)) {
			line("stage_events_total", k, "event", event, now[k].Notes[event])
		}
	}
	head("stage_lag", "gauge", "Messages that wait to be read by a source.")
	for _, k := range keys {
		if lag[k] > 0 {
			line("stage_lag", k, "", "", lag[k])
		}
	}
	head("runs", "gauge", "Runs at work.")
	fmt.Fprintf(w, "sanflow_runs %d\n", atWork)
	head("runs_total", "counter", "Runs that have ended.")
	fmt.Fprintf(w, "sanflow_runs_total{result=\"ended\"} %d\nsanflow_runs_total{result=\"failed\"} %d\n", count[0]-count[1], count[1])
	return w.Bytes()
}
