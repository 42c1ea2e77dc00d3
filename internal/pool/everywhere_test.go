package pool_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/propagation"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/parquet"
)

// places are all that have a setting Workers and share work by it, with what they make.
func places(t *testing.T) map[string]func(ctx context.Context, workers int) (any, error) {
	g, err := generate.PreferentialAttachment(20_000, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	var edges strings.Builder
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			fmt.Fprintln(&edges, u, v)
		}
	}
	counts := &nn.Counts{}
	for i := range uint64(500) {
		counts.Append([]uint64{i % 7, 10 + i%11, 30 + i}, []float64{1, 2, 3})
	}
	return map[string]func(ctx context.Context, workers int) (any, error){
		"flow.Options": func(ctx context.Context, workers int) (any, error) {
			var out sinks.Collect
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer func() {
				out.Release()
				mem.AssertSize(t, 0)
			}()
			err := flow.From(sources.EdgeList{Reader: strings.NewReader(edges.String())}).
				Via(operators.Select{}).Via(operators.Chunk{Size: 500}).Via(operators.Assemble{K: 4}).Via(operators.Normalize{}).
				With(flow.Options{Workers: workers, Allocator: mem}).To(&out).Run(ctx)
			var rows []string
			for _, rec := range out.Records() {
				for _, c := range rec.Columns() {
					rows = append(rows, c.String())
				}
			}
			return rows, err
		},
		"graphkernel.GramOf": func(ctx context.Context, workers int) (any, error) {
			return graphkernel.GramOf(ctx, counts, nn.Min, workers)
		},
		"graphkernel.GramOf linear": func(ctx context.Context, workers int) (any, error) {
			return graphkernel.GramOf(ctx, counts, nn.Linear, workers)
		},
		"sources.EdgeList": func(ctx context.Context, workers int) (any, error) {
			return sources.EdgeList{Reader: strings.NewReader(edges.String()), Workers: workers}.Read(ctx)
		},
		"sources.EdgeList weights": func(ctx context.Context, workers int) (any, error) {
			text := strings.NewReader(strings.ReplaceAll(edges.String(), "\n", " 2\n"))
			return sources.EdgeList{Reader: text, Weights: true, Workers: workers}.Read(ctx)
		},
		"sources/parquet.Table": func(ctx context.Context, workers int) (any, error) {
			return sources.EdgeList{Table: parquet.Table{Path: "../../sources/parquet/testdata/duckdb.edges.parquet"}, Workers: workers}.Read(ctx)
		},
		"propagation.Walk": func(ctx context.Context, workers int) (any, error) {
			rows := make([]float32, g.N())
			rows[3] = 1
			return rows, propagation.Walk{Workers: workers, Rounds: 5}.Rows(ctx, g, rows, 1)
		},
	}
}

// Whatever number of workers is asked for, some hundred goroutines at most are
// started, the result is that of one, and a context that has ended is heard at once.
func TestWorkersEverywhere(t *testing.T) {
	defer leak.VerifyNone(t)
	gone, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the reason")
	cancel(reason)
	for name, run := range places(t) {
		t.Run(name, func(t *testing.T) {
			want, err := run(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{1 << 20, math.MaxInt} {
				before := runtime.NumGoroutine()
				most := make(chan int)
				go func() {
					for n := 0; ; n = max(n, runtime.NumGoroutine()-before) {
						select {
						case most <- n:
							return
						case <-time.After(50 * time.Microsecond):
						}
					}
				}()
				got, err := run(t.Context(), workers)
				if n := <-most; n > 3*max(64, runtime.GOMAXPROCS(0)) {
					t.Errorf("%d workers: %d goroutines", workers, n)
				}
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%d workers: %v, or not the result of one", workers, err)
				}
				start := time.Now()
				if _, err := run(gone, workers); !errors.Is(err, reason) {
					t.Errorf("%d workers: the error of a context that has ended is %v", workers, err)
				}
				if took := time.Since(start); took > time.Second {
					t.Errorf("%d workers: a context that has ended is heard after %v", workers, took)
				}
			}
		})
	}
}
