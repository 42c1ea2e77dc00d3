package sinks

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Checkpoint lets a training be stopped at any moment, also by loss of power,
// and gone on with later, to the same weights, byte for byte. It needs a stream
// that is the same every time: then the batches that were learned from are
// passed over, at the cost of making them again.
type Checkpoint struct {
	// File holds the model, the memory of its optimizer and how many batches it
	// has learned from. It is replaced in one step, so that it is always whole.
	// Empty means no checkpoints.
	File string

	// Every is the least time between two checkpoints; the last is made when
	// the run ends, whatever ends it. 0 = 1 s, negative = after each step.
	Every time.Duration

	// Resume goes on from File where there is one. One that was made with
	// other settings of the model, or from another stream, is an error; graphs
	// are compared by their ids and targets.
	Resume bool

	// State, if set, returns what else is to be kept: what OnStep has gathered.
	// Restore gets it back before the first step.
	State   func() (string, error)
	Restore func(string) error
}

// progress is a Checkpoint at work. It is the note of the model's file.
type progress struct {
	Batches int    `json:"batches"` // that were learned from
	Stream  string `json:"stream"`  // digest of their ids and targets
	State   string `json:"state,omitempty"`

	set     Checkpoint
	net     nn.Checkpointer
	skip    int
	want    string // Stream after skip batches
	digest  [sha256.Size]byte
	written time.Time
	dirty   bool // there is a step that the file does not have
}

// open returns nil when there are to be no checkpoints.
func (c Checkpoint) open(net nn.Model) (*progress, error) {
	if c.File == "" {
		if c.Resume {
			return nil, errors.New("the field Checkpoint.Resume is set, Checkpoint.File is not")
		}
		return nil, nil
	}
	saver, ok := net.(nn.Checkpointer)
	if !ok {
		return nil, fmt.Errorf("the field Checkpoint is set, but a %T cannot be stopped and resumed", net)
	}
	if c.Every == 0 {
		c.Every = time.Second
	}
	p := &progress{set: c, net: saver, written: time.Now()}
	if !c.Resume {
		return p, nil
	}
	f, err := os.Open(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := p.read(f); err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return p, nil
}

func (p *progress) read(r io.Reader) error {
	note, err := p.net.Resume(r)
	if err != nil {
		return err
	}
	var saved progress
	if err := json.Unmarshal([]byte(note), &saved); err != nil {
		return fmt.Errorf("its note is not that of a stream: %w", err)
	}
	p.skip, p.want = saved.Batches, saved.Stream
	if p.set.Restore != nil {
		return p.set.Restore(saved.State)
	}
	return nil
}

// pass counts a batch, and reports whether it was learned from before.
func (p *progress) pass(rec arrow.Record) (bool, error) {
	if p == nil {
		return false, nil
	}
	h := sha256.New()
	h.Write(p.digest[:])
	ids, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		return false, err
	}
	binary.Write(h, binary.LittleEndian, ids) // a hash returns no error
	if targets, err := record.Values[int32](rec, record.Target); err == nil {
		binary.Write(h, binary.LittleEndian, targets)
	}
	h.Sum(p.digest[:0])
	p.Batches++
	if p.Batches > p.skip {
		return false, nil
	}
	if p.Batches == p.skip && hex.EncodeToString(p.digest[:]) != p.want {
		return false, fmt.Errorf("%s: the first %d batches of the stream are not those of the checkpoint", p.set.File, p.skip)
	}
	return true, nil
}

// done writes a checkpoint after a step, when it is time for one.
func (p *progress) done() error {
	if p == nil {
		return nil
	}
	p.dirty = true
	if time.Since(p.written) < p.set.Every {
		return nil
	}
	return p.write()
}

// close writes the last checkpoint. stepping tells that the run ended within a
// step.
func (p *progress) close(err error, stepping bool) error {
	if p == nil {
		return nil
	}
	if err == nil && p.Batches < p.skip {
		return fmt.Errorf("%s: the stream has %d batches, the checkpoint was made after %d", p.set.File, p.Batches, p.skip)
	}
	if !p.dirty || stepping {
		return nil
	}
	return p.write()
}

func (p *progress) write() (err error) {
	p.Stream = hex.EncodeToString(p.digest[:])
	if p.set.State != nil {
		if p.State, err = p.set.State(); err != nil {
			return err
		}
	}
	note, err := json.Marshal(p)
	if err != nil {
		return err
	}
	p.dirty, p.written = false, time.Now()
	return nn.SaveFile(p.set.File, saveFunc(func(w io.Writer) error { return p.net.Checkpoint(w, string(note)) }))
}

// saveFunc is a function as what nn.SaveFile takes.
type saveFunc func(io.Writer) error

func (f saveFunc) Save(w io.Writer) error { return f(w) }
