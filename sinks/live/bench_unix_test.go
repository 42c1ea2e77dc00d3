//go:build unix

package live

import (
	"context"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// cpu is the processor time of this process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPage compares the processor time of a training alone, watched by a page that is
// not open, and watched by an open page, side by side: the last two as shares of the first,
// and that of one alone of the messages that stages take.
func BenchmarkPage(b *testing.B) {
	var took [3]time.Duration
	messages := int64(0)
	run := func(mode int) {
		ctx, p := context.Background(), &Page{}
		if mode > 0 {
			ctx = p.Watch(ctx)
		}
		if mode == 2 {
			server := serve(b, p)
			answer, err := http.Get(server.URL + "/events")
			if err != nil {
				b.Fatal(err)
			}
			defer answer.Body.Close()
			go func() { _, _ = io.Copy(io.Discard, answer.Body) }()
		}
		start := cpu(b)
		running := flow.From(sources.Families{Graphs: 40000}).
			Via(operators.Count{Of: []count.Counter{count.WL{Height: 2}}}).Via(operators.Batch{Size: 32}).
			To(sinks.Train{Net: &nn.Logistic{}}).Start(ctx)
		if err := running.Wait(); err != nil {
			b.Fatal(err)
		}
		took[mode] += cpu(b) - start
		if mode == 0 {
			for _, s := range running.Stats().Stages {
				messages += s.RecordsIn
			}
		}
	}
	run(0) // warms up
	took, messages = [3]time.Duration{}, 0
	i := 0
	for b.Loop() {
		for mode := range 3 {
			run((mode + i) % 3)
		}
		i++
	}
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(messages), "ns/message")
	b.ReportMetric(100*(float64(took[1])/float64(took[0])-1), "%watched")
	b.ReportMetric(100*(float64(took[2])/float64(took[0])-1), "%open")
}

// BenchmarkFrame is what an open page costs twice a second, but for what the sinks note.
func BenchmarkFrame(b *testing.B) {
	p := &Page{}
	ended := p.Add("", busy{stages: 8})
	defer ended(nil)
	p.runs[0].began = time.Now().Add(-time.Minute)
	for b.Loop() {
		p.frame = nil
		if f, _ := p.next(); len(f) < 1000 {
			b.Fatalf("the page is %s", f)
		}
	}
}

// busy is a run whose last stage learns.
type busy struct{ stages int }

func (r busy) Stats() (s flow.Stats) {
	for range r.stages {
		s.Stages = append(s.Stages, flow.StageStats{Stage: "select", RowsIn: time.Now().UnixNano(), Busy: time.Hour})
	}
	return s
}

func (r busy) Report() []any {
	l := sinks.Learning{Classes: []string{"a", "b", "c"}, Sample: nn.Result{Rows: 1024, Correct: 700, Loss: 1}}
	for i := range int32(1024) {
		l.Rows = append(l.Rows, sinks.Guess{Target: i % 3, Class: i % 2, P: 0.7})
	}
	all := make([]any, r.stages)
	all[r.stages-1] = l
	return all
}
