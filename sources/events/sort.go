package events

import (
	"bufio"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
)

var errEnough = errors.New("enough")

type sortSettings struct {
	Memory int    // events held in memory; 0 = 2²⁰
	Dir    string // directory of the run files; "" = os.TempDir
	// Files is how many of the files are open at once, at least 2; 0 = 64.
	Files int
	// Runs, if set, becomes the number of files that were written before any were merged.
	Runs *int
}

// sorted returns the events of seq in stable order of time. It is an external merge sort (Knuth, The Art of
// Computer Programming 3, section 5.4): runs of Memory events go to files, and up to Files runs are merged
// per pass. It takes O(n log n) time, and the memory of Memory events and of 16 KiB per open file. The files
// are removed at the end.
func sorted(ctx context.Context, seq iter.Seq2[event.Event, error], set sortSettings) iter.Seq2[event.Event, error] {
	set.Memory, set.Files = cmp.Or(set.Memory, 1<<20), cmp.Or(set.Files, 64)
	if set.Memory < 1 || set.Files < 2 {
		return fail(fmt.Errorf("events: sort: Memory is %d, Files %d, want at least 1 and 2", set.Memory, set.Files))
	}
	return func(yield func(event.Event, error) bool) {
		s := sorter{sortSettings: set, ctx: ctx}
		defer func() { remove(s.runs) }()
		if err := s.sort(seq, yield); err != nil && !errors.Is(err, errEnough) {
			yield(event.Event{}, err)
		}
	}
}

// sorter holds the runs in order of arrival, so that merging is stable.
type sorter struct {
	sortSettings
	ctx  context.Context
	runs []*run
}

func (s *sorter) sort(seq iter.Seq2[event.Event, error], yield func(event.Event, error) bool) error {
	var held []event.Event
	for e, err := range seq {
		if err == nil && len(held)%4096 == 0 {
			err = context.Cause(s.ctx)
		}
		if err != nil {
			return err
		}
		e.Cat, e.Attr = slices.Clone(e.Cat), slices.Clone(e.Attr)
		if held = append(held, e); len(held) == s.Memory {
			byTime(held)
			r, err := s.write(func(put func(*event.Event) error) error {
				for i := range held {
					if err := put(&held[i]); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			s.runs, held = append(s.runs, r), held[:0]
		}
	}
	if s.Runs != nil {
		*s.Runs = len(s.runs)
	}
	for len(s.runs) > s.Files {
		if err := s.pass(); err != nil {
			return err
		}
	}
	byTime(held)
	return s.merge(append(s.runs[:len(s.runs):len(s.runs)], &run{held: held}), func(e *event.Event) error {
		if !yield(*e, nil) {
			return errEnough
		}
		return nil
	})
}

// pass merges groups of Files runs into longer runs.
func (s *sorter) pass() error {
	var next []*run
	for len(s.runs) > 0 {
		some := s.runs[:min(s.Files, len(s.runs))]
		r, err := s.write(func(put func(*event.Event) error) error { return s.merge(some, put) })
		if err != nil {
			s.runs = append(next, s.runs...)
			return err
		}
		remove(some)
		next, s.runs = append(next, r), s.runs[len(some):]
	}
	s.runs = next
	return nil
}

// merge passes the events of some runs to give, in order of time.
func (s *sorter) merge(runs []*run, give func(*event.Event) error) error {
	m := merge{}
	defer func() {
		for _, r := range runs {
			r.close()
		}
	}()
	for i, r := range runs {
		r.number = i
		if err := r.open(); err != nil {
			return fmt.Errorf("events: sort: %w", err)
		}
		if err := r.next(); err != nil {
			return fmt.Errorf("events: sort: %w", err)
		}
		if !r.done {
			m = append(m, r)
		}
	}
	heap.Init(&m)
	for n := 0; len(m) > 0; n++ {
		if n%4096 == 0 && s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		r := m[0]
		if err := give(&r.e); err != nil {
			return err
		}
		if err := r.next(); err != nil {
			return fmt.Errorf("events: sort: %w", err)
		}
		if r.done {
			heap.Pop(&m)
		} else {
			heap.Fix(&m, 0)
		}
	}
	return nil
}

func byTime(list []event.Event) {
	slices.SortStableFunc(list, func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) })
}

// run is a sorted list of events, in a file or in memory. number is the order of arrival.
type run struct {
	number int
	path   string
	file   *os.File // nil while closed
	r      *bufio.Reader
	held   []event.Event
	e      event.Event // the head of the run
	buffer []byte
	done   bool
}

// write writes a run to a new file.
func (s *sorter) write(all func(put func(*event.Event) error) error) (*run, error) {
	f, err := os.CreateTemp(s.Dir, "sanflow-events-")
	if err != nil {
		return nil, fmt.Errorf("events: sort: %w", err)
	}
	r := &run{path: f.Name()}
	w := bufio.NewWriterSize(f, 1<<16)
	err = all(func(e *event.Event) error {
		r.buffer = e.Append(append(r.buffer[:0], 0, 0, 0, 0))
		binary.LittleEndian.PutUint32(r.buffer, uint32(len(r.buffer)-4))
		_, err := w.Write(r.buffer)
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		remove([]*run{r})
		return nil, fmt.Errorf("events: sort: %w", err)
	}
	r.buffer = nil
	return r, nil
}

func (r *run) open() (err error) {
	if r.path != "" {
		if r.file, err = os.Open(r.path); err == nil {
			r.r = bufio.NewReaderSize(r.file, 16<<10)
		}
	}
	return err
}

func (r *run) close() {
	if r.file != nil {
		r.file.Close()
		r.file, r.r = nil, nil
	}
}

func remove(runs []*run) {
	for _, r := range runs {
		os.Remove(r.path)
	}
}

// next moves the next event to e.
func (r *run) next() error {
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

// merge is a heap of runs, ordered by time and number.
type merge []*run

func (m merge) Len() int { return len(m) }
func (m merge) Less(i, j int) bool {
	return m[i].e.Time < m[j].e.Time || m[i].e.Time == m[j].e.Time && m[i].number < m[j].number
}
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)   { *m = append(*m, x.(*run)) }
func (m *merge) Pop() any {
	r := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
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
