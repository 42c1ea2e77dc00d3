// Package checkpoint keeps all parts of a run over events in one file, as they are after the same
// event: a graph, its fields, a model. A killed run resumes from the file and ends with the same
// bytes as an uninterrupted one.
//
//	history, net := &temporal.History{}, &nn.Ranker{}
//	run, err := checkpoint.File{Path: "run.ckpt", Every: 10_000, Resume: true}.Open(
//		checkpoint.Part{Name: "history", Save: history.Save, Load: history.Load},
//		checkpoint.Part{Name: "model", Save: net.Save, Load: net.Load},
//	)
//	if err != nil {
//		return err // another run, a damaged file, or no place to write to
//	}
//	defer run.Close()
//	for e, err := range run.Events(events) {
//		if err != nil {
//			return err
//		}
//		learn(e)
//		if err := run.Save(); err != nil { // at most each 10 000 events
//			return err
//		}
//	}
//
// The tasks of package prequential have a File among their settings.
//
// # The stream
//
// A resumed run reads the stream from its beginning and skips the events that its parts have
// processed. It compares their digest with that of the file: kind, position, time, nodes, class and
// attributes of each. Another stream is an error.
//
// # The file
//
// The file is replaced in one step, so that it is always whole; see package file. It holds
// the settings of the run, the position and digest of the stream, the parts, and the
// SHA-256 of all of that. One process at a time uses it: another gets file.ErrHeld.
package checkpoint

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/internal/state"
)

// ErrBegun is the error of a file that is there and is not to be resumed.
var ErrBegun = errors.New("holds a run")

// File is the path of a checkpoint and how often a run writes it. The zero value keeps nothing.
type File struct {
	Path string
	// Every is how many events come at least between two checkpoints; 0 = 10 000.
	Every int
	// Resume continues the run of the file, if there is one. Without it, a file that is there is
	// ErrBegun.
	Resume bool
	// Settings are the other values that the result depends on. A file of other settings is an
	// error that names the first of them.
	Settings []store.Setting
	// Parts are kept before the parts of Open.
	Parts []Part
	// FS is where the file is; nil = the operating system.
	FS file.FS
}

// Part is something that a run changes. The reader of Load ends behind the output of Save, and Load
// reads all of it.
type Part struct {
	Name string
	Save func(io.Writer) error
	Load func(io.Reader) error
}

// Run is a run that is kept. A nil Run keeps nothing. It is used by one goroutine.
type Run struct {
	set    File
	lock   *file.Pending
	pos    int64 // events so far
	known  int64 // events that the parts knew at the beginning
	saved  int64 // events that the file knows
	digest [sha256.Size]byte
	want   [sha256.Size]byte // of the events that are known
	buffer []byte
}

const (
	stateName = "sanflow checkpoint 1\n"
	mostText  = 1 << 16
	mostList  = 1 << 10
)

// Open begins a run, or loads the parts from the file. It returns nil if there is no
// Path. After an error parts may be half loaded.
func (f File) Open(parts ...Part) (*Run, error) {
	if f.Path == "" {
		if f.Resume {
			return nil, errors.New("checkpoint: Resume is set, and there is no Path")
		}
		return nil, nil
	}
	if f.Every < 0 {
		return nil, fmt.Errorf("checkpoint: Every is %d, want a number of events from 1", f.Every)
	}
	f.Every, f.Parts = cmp.Or(f.Every, 10_000), append(f.Parts[:len(f.Parts):len(f.Parts)], parts...)
	lock, err := file.Create(f.FS, f.Path+".lock") // it never gets that name
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	r := &Run{set: f, lock: lock}
	if err := r.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint: %s %w", f.Path, err), lock.Discard())
	}
	return r, nil
}

func (r *Run) load() error {
	from, err := file.Or(r.set.FS).Open(r.set.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot be read: %w", err)
	}
	defer from.Close()
	if !r.set.Resume {
		return fmt.Errorf("%w; resume it, or remove it to begin anew", ErrBegun)
	}
	in := bufio.NewReaderSize(from, 1<<16)
	if err := state.Load(in, stateName, r.state); err != nil {
		return fmt.Errorf("cannot be resumed: %w", err)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		return errors.New("cannot be resumed: there is more behind its end")
	}
	r.known, r.saved, r.want = r.pos, r.pos, r.digest
	r.pos, r.digest = 0, [sha256.Size]byte{}
	return nil
}

func (r *Run) state(c *state.Codec) {
	settings := r.set.Settings
	state.Each(c, "settings", mostList, &settings, func(s *store.Setting) {
		state.Text(c, "bytes of a setting", mostText, &s.Name)
		state.Text(c, "bytes of a setting", mostText, &s.Value)
	})
	for i, is := range r.set.Settings {
		if i >= len(settings) || settings[i].Name != is.Name {
			c.Fail("it was made without the setting %s", is.Name)
			return
		}
		c.Check(settings[i] == is, "it is of a run with %s %s, this one has %s %s", is.Name, settings[i].Value, is.Name, is.Value)
	}
	c.Check(len(settings) == len(r.set.Settings), "it was made with more settings")
	state.Num(c, &r.pos)
	state.Fixed(c, r.digest[:])
	c.Check(r.pos >= 0, "it was made after %d events", r.pos)
	n := int64(len(r.set.Parts))
	state.Num(c, &n)
	c.Check(n == int64(len(r.set.Parts)), "it has %d parts, want %d", n, len(r.set.Parts))
	for _, p := range r.set.Parts {
		name := p.Name
		state.Text(c, "bytes of a name", mostText, &name)
		if name != p.Name {
			c.Fail("it has %q, want the part %q", name, p.Name)
			return
		}
		state.Section(c, p.Save, p.Load)
	}
}

// pass counts an event, and reports whether the parts know it.
func (r *Run) pass(e *event.Event) (known bool, err error) {
	if r == nil {
		return false, nil
	}
	r.buffer = e.Append(append(r.buffer[:0], r.digest[:]...))
	r.digest = sha256.Sum256(r.buffer)
	if r.pos++; r.pos == r.known && r.digest != r.want {
		return false, fmt.Errorf("checkpoint: %s is of another stream: its first %d events differ from the stream", r.set.Path, r.known)
	}
	return r.pos <= r.known, nil
}

// Pos returns how many events the parts know at least.
func (r *Run) Pos() int64 {
	if r == nil {
		return 0
	}
	return max(r.pos, r.known)
}

// Events returns the events that the parts do not know. A stream that ends before them is
// an error.
func (r *Run) Events(events iter.Seq2[event.Event, error]) iter.Seq2[event.Event, error] {
	if r == nil {
		return events
	}
	return func(yield func(event.Event, error) bool) {
		for e, err := range events {
			if err == nil {
				var known bool
				if known, err = r.pass(&e); known && err == nil {
					continue
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		if err := r.ended(); err != nil {
			yield(event.Event{}, err)
		}
	}
}

func (r *Run) ended() error {
	if r != nil && r.pos < r.known {
		return fmt.Errorf("checkpoint: %s was made after %d events, and the stream has %d", r.set.Path, r.known, r.pos)
	}
	return nil
}

// Save writes the parts, if Every events have come since they were written. They have to be
// as they are after the last event.
func (r *Run) Save() error {
	if r == nil || r.pos-r.saved < int64(r.set.Every) {
		return nil
	}
	return r.Flush()
}

// Flush writes the parts, if an event has come since they were written.
func (r *Run) Flush() error {
	if r == nil || r.pos <= r.saved {
		return nil
	}
	err := file.Write(r.set.FS, r.set.Path, func(w io.Writer) error { return state.Save(w, stateName, r.state) })
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	r.saved = r.pos
	return nil
}

// Close gives the file to other runs. It does not write the parts.
func (r *Run) Close() error {
	if r == nil {
		return nil
	}
	return r.lock.Discard()
}
