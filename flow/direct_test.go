package flow_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/sanflow/sanflow/flow"
)

// One record after the other, through every kind of stage: what is refused, or
// fails, is told of that record alone.
func TestDirect(t *testing.T) {
	mem := checked(t)
	reader, err := numbers{Records: 6, Rows: 5}.Open(context.Background(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, m := range []mode{plain, forks, holds} {
		d, err := flow.OpenDirect(reader.Schema(), flow.Options{Mem: mem},
			step{Label: "before"}, step{Label: "strict", mode: m, refuse: badIDs}, step{Label: "after", hook: failing("process", 25, true)})
		if err != nil {
			t.Fatal(err)
		}
		reader, err := numbers{Records: 6, Rows: 5}.Open(context.Background(), mem)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i++ {
			rec, err := reader.Next(context.Background())
			if err == io.EOF {
				break
			}
			outs, err := d.Process(context.Background(), rec)
			var e *flow.Error
			switch {
			case i == 2: // 10 to 14, of which none is bad
				rows := int64(0)
				for _, out := range outs {
					rows += out.NumRows()
					out.Release()
				}
				if err != nil || rows != 5 {
					t.Errorf("mode %d, record %d: %d rows, %v", m, i, rows, err)
				}
			case i == 5:
				if !errors.As(err, &e) || e.Stage != "after" || outs != nil {
					t.Errorf("mode %d, record %d: %v", m, i, err)
				}
			case !errors.As(err, &e) || e.Stage != "strict" || outs != nil:
				t.Errorf("mode %d, record %d: %v", m, i, err)
			}
			gone, cancel := context.WithCancelCause(context.Background())
			cancel(errTest)
			if outs, err := d.Process(gone, rec); !errors.Is(err, errTest) || outs != nil {
				t.Errorf("mode %d: after the end of the context: %v", m, err)
			}
			rec.Release()
		}
		if err := errors.Join(d.Close(), d.Close(), reader.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := flow.OpenDirect(reader.Schema(), flow.Options{}, step{Label: "bad", hook: failing("open", 0, false)}); err == nil {
		t.Error("an operator that cannot be opened was")
	}
}
