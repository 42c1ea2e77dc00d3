//go:build unix

package sources_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/sanflow/sanflow/sources"
)

func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkTables(b *testing.B) {
	for _, prefix := range []string{"", "user_"} {
		for _, n := range []int{100_000, 1_000_000} {
			r := rand.New(rand.NewPCG(1, 2))
			var w bytes.Buffer
			w.WriteString("source,target\n")
			for range 4_000_000 {
				fmt.Fprintf(&w, "%s%d,%s%d\n", prefix, r.IntN(n), prefix, r.IntN(n))
			}
			b.Run(fmt.Sprintf("%s%d", prefix, n), func(b *testing.B) {
				before := processorTime()
				for b.Loop() {
					if _, err := (sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Reader: bytes.NewReader(w.Bytes())}}, Workers: 1}).Read(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*float64(w.Len())/1e6/(processorTime()-before).Seconds(), "MB/cpu-s")
			})
		}
	}
}

// BenchmarkCSV splits rows of two strings, and finds where they are.
func BenchmarkCSV(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var w bytes.Buffer
	w.WriteString("source,target\n")
	for range 1_000_000 {
		fmt.Fprintf(&w, "user_%d,user_%d\n", r.IntN(100_000), r.IntN(100_000))
	}
	before := processorTime()
	for b.Loop() {
		t, err := sources.CSV{Reader: bytes.NewReader(w.Bytes())}.OpenTable(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		t.Choose([]int{0, 1})
		for err == nil {
			_, err = t.Next()
		}
		t.Close()
	}
	b.ReportMetric(float64(b.N)*float64(w.Len())/1e6/(processorTime()-before).Seconds(), "MB/cpu-s")
}
