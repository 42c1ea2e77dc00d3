package otel_test

import (
	"context"
	"fmt"
	"log"
	"sort"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/otel"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources"
)

// fixed is a run that stands still.
type fixed flow.Stats

func (f fixed) Stats() flow.Stats { return flow.Stats(f) }

// collect returns every value as "name{attributes} value unit", in order.
func collect(t testing.TB, reader metric.Reader) (lines []string) {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(set attribute.Set, value any) {
				lines = append(lines, fmt.Sprintf("%s{%s} %v %s", m.Name, set.Encoded(attribute.DefaultEncoder()), value, m.Unit))
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Value)
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	sort.Strings(lines)
	return lines
}

func TestObserve(t *testing.T) {
	reader := metric.NewManualReader()
	meter := metric.NewMeterProvider(metric.WithReader(reader)).Meter("test")
	reg, err := otel.Observe(meter, fixed{Done: 41, Stages: []flow.StageStats{{
		Stage: "select", RecordsIn: 1, RecordsOut: 2, RowsIn: 3, RowsOut: 4, BytesOut: 5, Refused: 6,
		Busy: time.Second, Waiting: 2 * time.Second, Blocked: 500 * time.Millisecond, Notes: map[string]int64{"ties": 7}, Lag: 8,
	}}}, attribute.String("run", "a"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"sanflow.done{run=a} 41 {row}",
		"sanflow.stage.bytes{run=a,stage=select} 5 By",
		"sanflow.stage.events{event=ties,run=a,stage=select} 7 {event}",
		"sanflow.stage.lag{run=a,stage=select} 8 {message}",
		"sanflow.stage.records{direction=in,run=a,stage=select} 1 {record}",
		"sanflow.stage.records{direction=out,run=a,stage=select} 2 {record}",
		"sanflow.stage.refused{run=a,stage=select} 6 {row}",
		"sanflow.stage.rows{direction=in,run=a,stage=select} 3 {row}",
		"sanflow.stage.rows{direction=out,run=a,stage=select} 4 {row}",
		"sanflow.stage.time{run=a,stage=select,state=blocked} 0.5 s",
		"sanflow.stage.time{run=a,stage=select,state=busy} 1 s",
		"sanflow.stage.time{run=a,stage=select,state=waiting} 2 s",
	}
	got := collect(t, reader)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("the values are\n%q\nwant\n%q", got, want)
		}
	}
	if err := reg.Unregister(); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, reader); len(got) != 0 {
		t.Errorf("after Unregister there are %q", got)
	}
}

// Observe a run; any exporter of OpenTelemetry's takes the place of the reader.
func ExampleObserve() {
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	run := flow.From(sources.Families{Graphs: 30}).Via(operators.Select{W: 5}).Start(context.Background())
	reg, err := otel.Observe(provider.Meter("example"), run)
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Unregister()
	if err := run.Wait(); err != nil {
		log.Fatal(err)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if done, ok := m.Data.(metricdata.Gauge[int64]); ok && m.Name == "sanflow.done" {
			fmt.Println(m.Name, done.DataPoints[0].Value)
		}
	}
	// Output: sanflow.done 29
}
