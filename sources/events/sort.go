package events

import (
	"bufio"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
)

// SortSettings are those of Sorted.
type SortSettings struct {
	Memory int    // events in memory; 0 = 2²⁰
	Dir    string // for the other events; "" = the directory for temporary files
	// Runs, if set, becomes the number of files that were written.
	Runs *int
}

// Sorted reads all events, and returns them in order of time; equal times stay in order.
// More than Memory events are sorted in runs, which are written to files and merged
// (Knuth, The Art of Computer Programming 3, section 5.4): O(n log n) time, Memory events
// and 16 KiB a run of memory. The files are removed at the end.
func Sorted(ctx context.Context, seq iter.Seq2[event.Event, error], set SortSettings) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		memory := cmp.Or(set.Memory, 1<<20)
		var held []event.Event
		var runs []*run
		defer func() {
			for _, r := range runs {
				r.close()
			}
		}()
		for e, err := range seq {
			if err == nil && len(held)%4096 == 0 {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(e, err)
				return
			}
			e.Cat, e.Attr = slices.Clone(e.Cat), slices.Clone(e.Attr)
			if held = append(held, e); len(held) == memory {
				r, err := spill(set.Dir, held)
				if err != nil {
					yield(event.Event{}, fmt.Errorf("events: sort: %w", err))
					return
				}
				runs, held = append(runs, r), held[:0]
			}
		}
		if set.Runs != nil {
			*set.Runs = len(runs)
		}
		byTime(held)
		m := merge{runs: append(runs, &run{held: held})}
		for i, r := range m.runs {
			r.number = i
			if err := m.begin(r); err != nil {
				yield(event.Event{}, fmt.Errorf("events: sort: %w", err))
				return
			}
		}
		m.runs = slices.DeleteFunc(slices.Clone(m.runs), func(r *run) bool { return r.done })
		heap.Init(&m)
		for len(m.runs) > 0 {
			r := m.runs[0]
			if !yield(r.e, nil) {
				return
			}
			if err := m.begin(r); err != nil {
				yield(event.Event{}, fmt.Errorf("events: sort: %w", err))
				return
			}
			if r.done {
				heap.Pop(&m)
			} else {
				heap.Fix(&m, 0)
			}
		}
	}
}

func byTime(list []event.Event) {
	slices.SortStableFunc(list, func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) })
}

// run is sorted events, in a file or in memory. Runs are numbered in order of arrival.
type run struct {
	number int
	file   *os.File
	r      *bufio.Reader
	held   []event.Event
	e      event.Event // the next one
	buffer []byte
	done   bool
}

func (r *run) close() {
	if r.file != nil {
		r.file.Close()
		os.Remove(r.file.Name())
	}
}

// spill writes a run to a file.
func spill(dir string, list []event.Event) (*run, error) {
	byTime(list)
	f, err := os.CreateTemp(dir, "sanflow-events-")
	if err != nil {
		return nil, err
	}
	r := &run{file: f}
	w := bufio.NewWriterSize(f, 1<<16)
	for i := range list {
		r.buffer = list[i].Append(r.buffer[:0])
		if _, err = w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(r.buffer)))); err == nil {
			_, err = w.Write(r.buffer)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	r.r = bufio.NewReaderSize(f, 16<<10)
	return r, nil
}

// merge is a heap of runs by their next events.
type merge struct{ runs []*run }

// begin reads the next event of a run.
func (m *merge) begin(r *run) error {
	if r.file == nil {
		if r.done = len(r.held) == 0; !r.done {
			r.e, r.held = r.held[0], r.held[1:]
		}
		return nil
	}
	var size [4]byte
	if _, err := io.ReadFull(r.r, size[:]); err == io.EOF {
		r.done = true
		return nil
	} else if err != nil {
		return err
	}
	n := int(binary.LittleEndian.Uint32(size[:]))
	r.buffer = slices.Grow(r.buffer[:0], n)[:n]
	if _, err := io.ReadFull(r.r, r.buffer); err != nil {
		return err
	}
	r.e = decode(r.buffer)
	return nil
}

func (m *merge) Len() int { return len(m.runs) }
func (m *merge) Less(i, j int) bool {
	a, b := m.runs[i], m.runs[j]
	return a.e.Time < b.e.Time || a.e.Time == b.e.Time && a.number < b.number
}
func (m *merge) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }
func (m *merge) Push(x any)    { m.runs = append(m.runs, x.(*run)) }
func (m *merge) Pop() any {
	r := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return r
}

// decode is the inverse of Event.Append. The event shares no memory with b.
func decode(b []byte) (e event.Event) {
	le := binary.LittleEndian
	e.Kind, e.Pos, e.Time = event.Kind(b[0]), int64(le.Uint64(b[1:])), int64(le.Uint64(b[9:]))
	word := func(i int) uint32 { return le.Uint32(b[17+4*i:]) }
	e.Source, e.Target, e.Class = int32(word(0)), int32(word(1)), int32(word(2))
	cats, all := int(word(3)), (len(b)-17)/4
	for i := 4; i < 4+cats; i++ {
		e.Cat = append(e.Cat, int32(word(i)))
	}
	for i := 4 + cats; i < all; i++ {
		e.Attr = append(e.Attr, math.Float32frombits(word(i)))
	}
	return e
}
