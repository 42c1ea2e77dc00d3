package flowtest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// loans are the input records of an operator, with their own reference counts. They live until the end of the
// trial, so that a use after the last Release is detected by the count.
type loans struct {
	mu      sync.Mutex
	all     []*lent
	misused error
}

// lend wraps rec, which it owns.
func (l *loans) lend(rec arrow.Record) arrow.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &lent{rec: rec, loans: l, refs: 1}
	l.all = append(l.all, r)
	return r
}

// settle releases the records and reports the first misuse.
func (l *loans) settle() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range l.all {
		if r.refs > 0 && l.misused == nil {
			l.misused = fmt.Errorf("record %d has not been released: each Retain needs a Release", i)
		}
		r.rec.Release()
	}
	l.all = nil
	return l.misused
}

// errRetain is the error of a stage that uses a borrowed record without Retain.
var errRetain = errors.New("a record is used, or released, after its last Release: Process borrows it, so a stage that keeps it, or hands it on by Emit, calls Retain before")

// lent is a record that counts its references. Each access without a reference is reported to loans.
type lent struct {
	rec   arrow.Record
	loans *loans
	refs  int
}

var _ arrow.Record = (*lent)(nil)

// count adds by to the references, and checks that there were some.
func (r *lent) count(by int) arrow.Record {
	r.loans.mu.Lock()
	defer r.loans.mu.Unlock()
	if r.refs <= 0 && r.loans.misused == nil {
		r.loans.misused = errRetain
	}
	r.refs += by
	return r.rec
}

func (r *lent) Retain()                          { r.count(1) }
func (r *lent) Release()                         { r.count(-1) }
func (r *lent) Schema() *arrow.Schema            { return r.count(0).Schema() }
func (r *lent) NumRows() int64                   { return r.count(0).NumRows() }
func (r *lent) NumCols() int64                   { return r.count(0).NumCols() }
func (r *lent) Columns() []arrow.Array           { return r.count(0).Columns() }
func (r *lent) Column(i int) arrow.Array         { return r.count(0).Column(i) }
func (r *lent) ColumnName(i int) string          { return r.count(0).ColumnName(i) }
func (r *lent) NewSlice(i, j int64) arrow.Record { return r.count(0).NewSlice(i, j) }
func (r *lent) MarshalJSON() ([]byte, error)     { return r.count(0).MarshalJSON() }

func (r *lent) SetColumn(i int, col arrow.Array) (arrow.Record, error) {
	return r.count(0).SetColumn(i, col)
}
