package flowtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// same runs t and compares its rows with those of the subject.
func (s *subject) same(t trial) (result, error) {
	r, err := t.run(context.Background())
	if err == nil {
		err = r.err
	}
	if err == nil {
		err = difference(r.rows, s.want.rows)
	}
	if err == nil {
		if err = difference(r.letters, s.want.letters); err != nil {
			err = fmt.Errorf("of the rows that are refused: %w", err)
		}
	}
	return r, err
}

func (s *subject) open() error {
	_ = fmt.Sprint(s.Op)
	empty := trial{op: s.Op, schema: arrow.NewSchema(nil, nil), workers: 1, policy: flow.Keep}
	r, err := empty.run(context.Background())
	var p *flow.PanicError
	if err == nil && errors.As(r.err, &p) {
		return fmt.Errorf("a schema without columns: %w\n%s", p, p.Stack)
	}
	return err
}

func (s *subject) workers() error {
	for _, n := range []int{2, 5} {
		t := s.trial
		t.workers, t.op = n, byTurns{t.op}
		r, err := s.same(t)
		if err == nil && !slices.Equal(r.sizes, s.want.sizes) {
			err = fmt.Errorf("records of %v rows, want %v", r.sizes, s.want.sizes)
		}
		if err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
	}
	return nil
}

// order checks that a stage that forks keeps the order of the rows. Other stages may reorder rows.
func (s *subject) order() error {
	st, err := s.Op.Open(s.trial.schema)
	if err != nil {
		return err
	}
	if c, ok := st.(interface{ Close() error }); ok {
		if err := c.Close(); err != nil {
			return fmt.Errorf("Close before anything was processed: %w", err)
		}
	}
	if _, ok := st.(flow.Forker); !ok {
		return nil
	}
	place := map[int64]int{}
	for i, p := range positions(s.trial.in...) {
		place[p] = i
	}
	for i, p := range s.want.pos {
		if i > 0 && place[p] < place[s.want.pos[i-1]] {
			return fmt.Errorf("the row at position %d comes after the one at %d", p, s.want.pos[i-1])
		}
	}
	return nil
}

func (s *subject) cuts() error {
	if s.ByRecord {
		return nil
	}
	for _, size := range []int64{1, 2, 3} {
		var in []arrow.Record
		for _, rec := range s.trial.in {
			for from := int64(0); from < rec.NumRows(); from += size {
				in = append(in, rec.NewSlice(from, min(from+size, rec.NumRows())))
			}
		}
		err := s.cut(in)
		record.Release(in)
		if err != nil {
			return fmt.Errorf("records of up to %d rows: %w", size, err)
		}
	}
	var refs []record.Ref
	for i, rec := range s.trial.in {
		for row := range int32(rec.NumRows()) {
			refs = append(refs, record.Ref{Record: int32(i), Row: row})
		}
	}
	whole, err := record.Take(memory.DefaultAllocator, s.trial.in, refs)
	if err != nil {
		return nil // Take does not support the columns, so the check has no larger record
	}
	defer whole.Release()
	if err := s.cut([]arrow.Record{whole}); err != nil {
		return fmt.Errorf("one record: %w", err)
	}
	return nil
}

func (s *subject) cut(in []arrow.Record) error {
	for _, n := range []int{1, 2} {
		t := s.trial
		t.in, t.workers = in, n
		if _, err := s.same(t); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) empty() error {
	none := s.trial.in[0].NewSlice(0, 0)
	defer none.Release()
	in := []arrow.Record{none}
	for _, rec := range s.trial.in {
		in = append(in, rec, none, none)
	}
	if err := s.cut(in); err != nil {
		return fmt.Errorf("with records of no rows in between: %w", err)
	}
	for _, in := range [][]arrow.Record{nil, {none}} {
		t := s.trial
		t.in, t.workers = in, 2
		r, err := t.run(context.Background())
		if err = errors.Join(err, r.err); err != nil {
			return fmt.Errorf("a stream of %d records without rows: %w", len(in), err)
		}
	}
	return nil
}

func (s *subject) input() error {
	before := fingerprint(s.trial.in)
	t := s.trial
	t.shared = true
	if _, err := s.same(t); err != nil {
		return err
	}
	if fingerprint(s.trial.in) != before {
		return errors.New("the operator has written to a record that it was lent")
	}
	return nil
}

func (s *subject) reuse() error {
	if _, err := s.same(s.trial); err != nil {
		return fmt.Errorf("the second run: %w", err)
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			p := flow.From(&feed{trial: s.trial}).Via(s.Op)
			sink := &catch{}
			err := p.To(sink).With(flow.Options{
				Workers: 2, Refused: flow.Skip,
			}).Run(context.Background())
			if err == nil {
				err = difference(Rows(sink.recs...), s.want.rows)
			}
			record.Release(sink.recs)
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("two runs at once: %w", err)
	}
	return nil
}

func (s *subject) refused() error {
	if len(s.want.refused) == 0 {
		return nil
	}
	t := s.trial
	t.policy, t.workers = flow.Stop, 2
	r, err := t.run(context.Background())
	if err != nil {
		return err
	}
	var e *flow.Error
	if !errors.As(r.err, &e) || e.Err == nil || e.Err.Error() != s.want.reasons[0].Error() {
		return fmt.Errorf("with the policy Stop: the error is %v, want the reason %v", r.err, s.want.reasons[0])
	}
	t.policy = flow.Skip
	r, err = t.run(context.Background())
	if err == nil {
		err = errors.Join(r.err, difference(r.rows, s.want.rows))
	}
	if err != nil {
		return fmt.Errorf("with the policy Skip: %w", err)
	}
	// t.in becomes the stream without the refused rows.
	t.in = nil
	for _, rec := range s.trial.in {
		pos := positions(rec)
		for row := range rec.NumRows() {
			if int(row) < len(pos) && !slices.Contains(s.want.refused, pos[row]) {
				t.in = append(t.in, rec.NewSlice(row, row+1))
			}
		}
	}
	defer record.Release(t.in)
	if s.ByRecord {
		return nil
	}
	r, err = t.run(context.Background())
	if err == nil {
		err = errors.Join(r.err, difference(r.rows, s.want.rows))
	}
	if err != nil {
		return fmt.Errorf("without the rows that were refused: %w", err)
	}
	return nil
}

func (s *subject) watermark() error {
	if !acknowledgeable(s.trial.in) {
		return nil
	}
	for _, n := range []int{1, 5} {
		t := s.trial
		t.workers, t.expect = n, append([]int64{}, s.want.pos...)
		if _, err := s.same(t); err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
	}
	return nil
}

// acknowledgeable reports whether the positions of records suit a [flow.Acker].
func acknowledgeable(in []arrow.Record) bool {
	last := int64(-1) // last position of earlier records
	for _, rec := range in {
		pos := positions(rec)
		if !slices.IsSorted(pos) || len(pos) > 0 && pos[0] <= last {
			return false
		}
		if len(pos) > 0 {
			last = pos[len(pos)-1]
		}
	}
	return last >= 0
}

func (s *subject) cancel() error {
	for _, n := range []int{1, 2} {
		ctx, stop := context.WithCancel(context.Background())
		t := s.trial
		t.workers, t.endless = n, true
		read := 0
		t.read = func(int) error {
			if read++; read == 20 {
				stop()
			}
			return nil
		}
		r, err := t.run(ctx)
		stop()
		if err == nil && !errors.Is(r.err, context.Canceled) {
			err = fmt.Errorf("the error is %v, want context.Canceled", r.err)
		}
		if err != nil {
			return fmt.Errorf("%d workers, context cancelled in mid-stream: %w", n, err)
		}
	}
	// Cancel at the first output record, for some stages within Flush.
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	t := s.trial
	t.workers = 2
	t.write = func(int) error {
		stop()
		return nil
	}
	r, err := t.run(ctx)
	if err == nil && r.err != nil && !errors.Is(r.err, context.Canceled) {
		err = fmt.Errorf("the error is %v, want context.Canceled", r.err)
	}
	if err != nil {
		return fmt.Errorf("context cancelled by the sink: %w", err)
	}
	return nil
}

func (s *subject) sink() error {
	if len(s.want.sizes) == 0 {
		return nil
	}
	for _, n := range []int{1, 5} {
		t := s.trial
		t.workers = n
		t.write = func(int) error { return errCheck }
		if err := s.fails(t); err != nil {
			return fmt.Errorf("%d workers, the sink fails on its first record: %w", n, err)
		}
	}
	return nil
}

func (s *subject) source() error {
	for at := range 2 {
		t := s.trial
		t.workers = 2
		t.read = func(n int) error {
			if n == at {
				return errCheck
			}
			return nil
		}
		if err := s.fails(t); err != nil {
			return fmt.Errorf("the source fails on record %d: %w", at, err)
		}
	}
	return nil
}

// fails checks that the error is that of the source or sink, not of the operator.
func (s *subject) fails(t trial) error {
	r, err := t.run(context.Background())
	if err == nil && !errors.Is(r.err, errCheck) {
		err = fmt.Errorf("the error is %v, want that of the neighbour", r.err)
	}
	return err
}
