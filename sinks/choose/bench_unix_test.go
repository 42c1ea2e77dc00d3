//go:build unix

package choose_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// cpuTime is the processor time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// million writes a CSV of n payments with four keys.
func million(w *io.PipeWriter, n int) {
	r := rand.New(rand.NewPCG(1, 2))
	fmt.Fprintln(w, "time,source,target,place,kind,amount,class")
	var line []byte
	for i := range n {
		line = fmt.Appendf(line[:0], "%d,s%d,t%d,p%d,k%d,%.2f,%s\n", i, r.IntN(n/4), int(float64(n/50)*r.Float64()*r.Float64()), r.IntN(300), r.IntN(150), r.ExpFloat64()*50, []string{"no", "no", "no", "yes", ""}[r.IntN(5)])
		if _, err := w.Write(line); err != nil {
			return
		}
	}
	w.Close()
}

func millionRows(b *testing.B, n int) *sources.RowSet {
	read, write := io.Pipe()
	go million(write, n)
	set, err := sources.Rows{Tables: []sources.RowTable{{
		Table: sources.CSV{Reader: read}, Time: "time", Class: "class",
		Keys: []sources.Key{{Column: "source"}, {Column: "target"}, {Column: "place"}, {Column: "kind"}},
	}}}.Read(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := set.SplitTime(0.6, 0.15); err != nil {
		b.Fatal(err)
	}
	return set
}

// discard counts rows.
type discard struct{ rows int }

func (d *discard) Open(*arrow.Schema) (flow.Writer, error) { return d, nil }

func (d *discard) Write(_ context.Context, rec arrow.Record) error {
	d.rows += int(rec.NumRows())
	return nil
}

func (d *discard) Close(failed error) error { return failed }

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkRows reads rows with four keys, and makes their columns, or their fields of ten nodes: rows for each second of processor
// time, and bytes of heap that a row keeps.
func BenchmarkRows(b *testing.B) {
	for _, n := range []int{50_000, 1_000_000} {
		for _, fields := range []bool{false, true} {
			b.Run(fmt.Sprintf("rows=%d/fields=%v", n, fields), func(b *testing.B) {
				if testing.Short() && n > 50_000 {
					b.Skip("a large table")
				}
				before, kept, spent, rows := heap(), 0.0, time.Duration(0), 0
				for b.Loop() {
					start := cpuTime()
					set := millionRows(b, n)
					h := &choose.History{Set: set, Train: set.Subset(sources.Train)}
					systems, err := h.Systems()
					if err != nil {
						b.Fatal(err)
					}
					recipe := systems[0].Recipe // the columns
					if fields {
						recipe = slices.Clone(rowSystem(b, h, "fields").Recipe)
						recipe[2], recipe[3] = operators.Assemble{K: 10}, operators.Normalize{}
					}
					var drop discard
					if err := h.Rows(first(n))(recipe).With(flow.Options{Workers: 2}).To(&drop).Run(b.Context()); err != nil {
						b.Fatal(err)
					}
					if drop.rows != n {
						b.Fatalf("%d rows, want %d", drop.rows, n)
					}
					spent, rows = spent+cpuTime()-start, rows+n
					kept = heap() - before
					runtime.KeepAlive(h)
				}
				b.ReportMetric(float64(rows)/spent.Seconds(), "rows/cpu-s")
				b.ReportMetric(kept/float64(n), "B/row")
			})
		}
	}
}

// newPayment is a row behind n and some others.
func newPayment(r *rand.Rand, n, others int) choose.Row {
	return choose.Row{"time": float64(n + others), "source": fmt.Sprint("s", r.IntN(n/4)), "target": fmt.Sprint("t", r.IntN(n/50)), "place": fmt.Sprint("p", r.IntN(300)), "kind": fmt.Sprint("k", r.IntN(150)), "amount": r.ExpFloat64() * 50}
}

// BenchmarkAsk asks a model of trees about rows that are in no table: the time of a question is that of the columns and the trees. Then it adds rows.
func BenchmarkAsk(b *testing.B) {
	for _, n := range []int{50_000, 1_000_000} {
		if testing.Short() && n > 50_000 {
			continue
		}
		set := millionRows(b, n)
		h := &choose.History{Set: set, Train: set.Subset(sources.Train)[:20_000]}
		systems, err := h.Systems()
		if err != nil {
			b.Fatal(err)
		}
		chosen, err := choose.Choice{Systems: systems[:1], Classes: set.Classes, Train: h.Rows(h.Train), Valid: h.Rows(set.Subset(sources.Val)[:5000]), Seed: 1}.Run(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Keep(chosen.Net); err != nil {
			b.Fatal(err)
		}
		p, err := sinks.NewPredictor(chosen.Net, chosen.Recipe)
		if err != nil {
			b.Fatal(err)
		}
		before := heap()
		asked, err := choose.HistoryOf(p, set, h.Train)
		if err != nil {
			b.Fatal(err)
		}
		asked.Train = nil // rows know the classes of all before them
		o, err := asked.OpenRows(p, choose.RowColumns{Time: "time", Class: "class"})
		if err != nil {
			b.Fatal(err)
		}
		kept := heap() - before
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(5, 6))
			var took []time.Duration
			b.ReportAllocs()
			begin := cpuTime()
			for b.Loop() {
				row := newPayment(r, n, len(took))
				start := time.Now()
				q, _, err := o.Ask(nil, []choose.Row{row})
				if err == nil {
					_, err = o.Predict(b.Context(), q[0])
				}
				if took = append(took, time.Since(start)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime()-begin).Microseconds())/float64(len(took)), "cpu-µs/op")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(kept/float64(n), "B/row")
		})
		b.Run(fmt.Sprintf("rows=%d/add", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(7, 6))
			begin, before, added := cpuTime(), heap(), 0
			for b.Loop() {
				batch := o.Begin()
				if err := batch.Add(choose.Event{Kind: choose.AddRow, Row: newPayment(r, n, added)}); err != nil {
					b.Fatal(err)
				}
				added++
				o.Apply(int64(added), batch.Changes...)
			}
			b.ReportMetric(float64((cpuTime()-begin).Nanoseconds())/1000/float64(added), "cpu-µs/op")
			b.ReportMetric((heap()-before)/float64(added), "B/row")
		})
		if err := o.Close(); err != nil {
			b.Error(err)
		}
	}
}
