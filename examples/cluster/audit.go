package main

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
)

// audit counts for each position how many rows were learned from. The counts are kept
// with the checkpoint, so that those of a trainer that was killed go on where its
// model does. It is an operator too, which sees how many fields a row has.
type audit struct {
	perRoot bool // a row is learned from field by field

	mu      sync.Mutex
	earlier earlier // what restore has found
	fields  int64
	pending map[int64]int32 // fields of rows that were not learned from before
	want    []int32         // rows at each position, in an epoch
	got     []int32         // learned from
	all     int64           // the sum of got
}

var _ flow.Restarter = (*auditStage)(nil)

func newAudit(perRoot bool) *audit { return &audit{perRoot: perRoot, pending: map[int64]int32{}} }

func (a *audit) String() string { return "audit" }

func (a *audit) Open(in *arrow.Schema) (flow.Stage, error) { return &auditStage{a, in}, nil }

type auditStage struct {
	*audit
	schema *arrow.Schema
}

func (s *auditStage) Schema() *arrow.Schema { return s.schema }

func (s *auditStage) Restarts() bool { return true }

func (s *auditStage) Skip(int64) bool { return false }

func (s *auditStage) Process(rec arrow.Record, out *flow.Out) error {
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return err
	}
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for row, p := range pos {
		if p < int64(len(s.got)) && s.got[p] > 0 {
			continue
		}
		n := int32(0)
		for _, v := range roots.Row(row) {
			if v >= 0 {
				n++
			}
		}
		s.pending[p] = n
	}
	s.mu.Unlock()
	rec.Retain()
	return out.Emit(rec)
}

// learned counts a row that was learned from.
func (a *audit) learned(row sinks.Prediction) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for int64(len(a.got)) <= row.Pos {
		a.want, a.got = append(a.want, 0), append(a.got, 0)
	}
	if a.got[row.Pos] == 0 {
		n := a.pending[row.Pos]
		delete(a.pending, row.Pos)
		a.fields += int64(n)
		a.want[row.Pos] = 1
		if a.perRoot {
			a.want[row.Pos] = n
		}
	}
	a.got[row.Pos]++
	a.all++
	return nil
}

// rows returns how many rows were learned from, in this run and before; none if there is
// no audit.
func (a *audit) rows() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all
}

// counts is an audit as a checkpoint keeps it: runs of positions with the same counts.
type counts struct {
	Fields int64      `json:"fields"`
	Runs   [][3]int32 `json:"runs"` // positions, want, got
}

func (a *audit) state() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := counts{Fields: a.fields}
	for i, got := range a.got {
		if last := len(c.Runs) - 1; last >= 0 && c.Runs[last][1] == a.want[i] && c.Runs[last][2] == got {
			c.Runs[last][0]++
			continue
		}
		c.Runs = append(c.Runs, [3]int32{1, a.want[i], got})
	}
	b, err := json.Marshal(c)
	return string(b), err
}

func (a *audit) restore(text string) error {
	var c counts
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fields = c.Fields
	for _, r := range c.Runs {
		for range r[0] {
			a.want, a.got = append(a.want, r[1]), append(a.got, r[2])
		}
		a.earlier.Rows += int64(r[0]) * int64(r[2])
	}
	a.all = a.earlier.Rows
	if a.earlier.Fields = c.Fields; isChild() {
		b, err := json.Marshal(status{Earlier: &a.earlier})
		if err != nil {
			return err
		}
		fmt.Println(string(b))
	}
	return nil
}

// judge compares what was learned from, and what the model says that it has learned
// from, with what it should have been.
func (a *audit) judge(r *report, epochs int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, got := range a.got {
		n := int64(got) - int64(a.want[i])*int64(epochs)
		r.Duplicates += max(0, n)
		r.Lost += max(0, -n)
		if got > 0 {
			r.Positions++
		}
	}
	r.Fields = a.fields
	r.Duplicates += max(0, r.Trained-a.all)
	r.Lost += max(0, a.all-r.Trained)
}
