package choose_test

import (
	"fmt"
	"testing"

	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
)

// A network reads the latest 8 rows before a row behind its key, and words the latest 24: what a row before these says changes no input.
func TestPastOfSystems(t *testing.T) {
	const n = 60
	table := func(other int) []string { // the row other has another amount
		rows := []string{"time,source,target,amount,class"}
		for i := range n {
			amount := 1 + i%3
			if i == other {
				amount = 1000
			}
			rows = append(rows, fmt.Sprintf("%d,a,b%d,%d,%s", i, i, amount, []string{"no", "yes"}[i%2]))
		}
		return rows
	}
	inputs := func(system string, other int) string {
		h := &choose.History{Set: rowsOf(t, table(other)), Train: first(20)}
		s := rowSystem(t, h, system)
		var got sinks.Collect
		defer got.Release()
		if err := h.Rows([]int32{n - 1})(s.Recipe).To(&got).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(got.Records()[0].Columns())
	}
	for system, bound := range map[string]int{"fields": 8, "words": 24} {
		before := inputs(system, -1)
		for back := 1; back <= 30; back++ {
			if reads := before != inputs(system, n-1-back); reads != (back <= bound) {
				t.Errorf("%s: the inputs read the row %d before: %t", system, back, reads)
			}
		}
	}
}
