package flowtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// RunSource checks a source that ends: it opens again to the same rows, keeps
// the schema it has announced, gives records away, stops when its context does,
// and leaves nothing behind, even if it is closed after the first record.
func RunSource(t *testing.T, src flow.Source) {
	t.Helper()
	var want []string
	t.Run("read", func(t *testing.T) {
		var err error
		if want, err = readAll(src, -1); err != nil {
			t.Error(err)
		}
	})
	t.Run("reuse", func(t *testing.T) {
		got, err := readAll(src, -1)
		if err == nil {
			err = difference(got, want)
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("close", func(t *testing.T) {
		for n := range 2 {
			if _, err := readAll(src, n); err != nil {
				t.Errorf("closed after %d records: %v", n, err)
			}
		}
	})
	t.Run("cancel", func(t *testing.T) {
		if err := cancelled(src); err != nil {
			t.Error(err)
		}
	})
}

// readAll reads up to n records of src, or all if n is negative, and closes the reader.
// It returns their rows, which it takes from the records after the close.
func readAll(src flow.Source, n int) (rows []string, err error) {
	err = clean(func(mem memory.Allocator) error {
		ctx := context.Background()
		r, err := src.Open(ctx, mem)
		if err != nil {
			return err
		}
		var recs []arrow.Record
		for len(recs) != n {
			var rec arrow.Record
			if rec, err = r.Next(ctx); err != nil {
				break
			}
			recs = append(recs, rec)
			if !rec.Schema().Equal(r.Schema()) {
				err = fmt.Errorf("record %d has the schema %v, want %v", len(recs)-1, rec.Schema(), r.Schema())
				break
			}
		}
		if err == io.EOF {
			err = nil
		}
		err = errors.Join(err, r.Close())
		rows = Rows(recs...)
		record.Release(recs)
		return err
	})
	return rows, err
}

// cancelled checks that a run ends with its context, which is cancelled at the first record.
func cancelled(src flow.Source) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	time.AfterFunc(patience, stop) // ends the run if no record comes
	r, err := trial{from: src, endless: true, write: func(int) error { stop(); return nil }}.run(ctx)
	if err == nil && r.err != nil && !errors.Is(r.err, context.Canceled) {
		err = fmt.Errorf("the error is %v, want context.Canceled", r.err)
	}
	return err
}

// RunIdle checks a source that has nothing more to give and does not end, like
// one that waits for a message: Next returns within a second when its context
// ends, with an error and not with the end of the stream, and nothing is left
// behind. The source may emit a few records before.
func RunIdle(t *testing.T, src flow.Source) {
	t.Helper()
	for _, c := range []struct {
		name  string
		after time.Duration
	}{
		{"ended before", 0},
		{"ends while Next waits", 50 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := idle(src, c.after); err != nil {
				t.Error(err)
			}
		})
	}
}

// idle calls Next until it fails. The context ends after the given time.
func idle(src flow.Source, after time.Duration) error {
	return clean(func(mem memory.Allocator) error {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		r, err := src.Open(ctx, mem)
		if err != nil {
			return err
		}
		if after == 0 {
			stop()
		} else {
			time.AfterFunc(after, stop)
		}
		ended := make(chan error, 1)
		go func() {
			for {
				rec, err := r.Next(ctx)
				if err != nil {
					ended <- err
					return
				}
				rec.Release()
			}
		}()
		<-ctx.Done()
		select {
		case err = <-ended:
		case <-time.After(patience):
			return fmt.Errorf("Next goes on %v after its context has ended", patience)
		}
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the error of Next is %v, want that of the context", err)
		}
		return r.Close()
	})
}
