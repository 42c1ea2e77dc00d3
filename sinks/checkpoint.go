package sinks

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Checkpoint makes a training resumable after any end, even loss of power, to the same weights,
// byte for byte. The stream must be the same every time. A resumed run makes the batches that
// were learned from again and passes over them.
//
// With a seekable source and no Shuffle or Replay, resume seeks, then verifies the boundary
// batch. Such sources implement flow.Seeker: part.Source and message.Source. The source seeks to the
// row after the last one before the batch. A batch that begins between rows derived from one source
// row (PerRoot) has no such place: the source seeks to the last batch before it that has one.
type Checkpoint struct {
	// File holds the model, the optimizer state and the number of batches learned from. It is
	// replaced in one step, so that it is always whole; see package flow/file. During a run, other
	// runs with the same File are refused: the run holds the lock .unfinished-File.lock beside it.
	// A killed process leaves the lock file, which excludes no run; the next run with File removes
	// it. Empty means no checkpoints.
	File string

	// Every is the least time between two checkpoints. The last one is made when the run ends, for
	// whatever reason. 0 = 1 s, negative = after each step.
	Every time.Duration

	// Resume continues from File if there is one. A checkpoint of a model with other
	// settings, of a machine whose kernels round otherwise, or of another stream is an
	// error. Resume compares the columns, with the names of channels and classes, and of
	// every row the id, the target and the fields. So another labeling is an error.
	Resume bool

	// State, if set, returns further state to store, such as results of OnStep. Restore gets it
	// back before the first step.
	State   func() (string, error)
	Restore func(string) error

	// FS is where File is. The default is the operating system's.
	FS file.FS

	best *[]float32 // best weights of a Fit, which File has too
}

// progress is a running Checkpoint. Its JSON is the note in the file of the model.
type progress struct {
	Batches int               `json:"batches"` // number of learned batches
	First   string            `json:"first"`   // digest of the first batch
	Stream  string            `json:"stream"`  // digest of all batches
	Columns map[string]string `json:"columns"` // types and metadata
	State   string            `json:"state,omitempty"`
	Place   *mark             `json:"place,omitempty"` // where a resumed run begins

	set     Checkpoint
	net     nn.Model
	skip    int
	want    [2]string // First, and Stream after skip batches
	digest  [sha256.Size]byte
	lock    *file.Pending
	written time.Time
	dirty   bool  // the model has learned since it was stored in the file
	records int64 // number of records that came, skipped ones included
	durable int64 // records that the model in the file has learned from

	places *flow.Places // places of the source; nil if it has none
	now    mark         // last place at the begin of a batch
	at     int64        // source rows of this run before now
	pos    int64        // position of the last row
	saved  *mark        // place of the checkpoint to resume; nil without one
}

// mark is a place of the source, with the batches before it.
type mark struct {
	Place   string `json:"place"`
	Batches int    `json:"batches"`
	Stream  string `json:"stream"`
}

// open locks the file of a Checkpoint and, with Resume, reads it. Without a File the result is nil.
func (c Checkpoint) open(net nn.Model, in *arrow.Schema) (*progress, error) {
	if c.File == "" {
		if c.Resume {
			return nil, errors.New("the field Checkpoint.Resume is set, Checkpoint.File is not")
		}
		return nil, nil
	}
	if c.Every == 0 {
		c.Every = time.Second
	}
	lock, err := file.Create(c.FS, c.File+".lock") // a pending file excludes other runs; it is discarded at the end
	if err != nil {
		return nil, fmt.Errorf("the field Checkpoint: %w", err)
	}
	p, done := &progress{set: c, net: net, lock: lock, written: time.Now(), Columns: columnsOf(in)}, false
	defer func() {
		if !done { // also if Restore panics
			lock.Discard()
		}
	}()
	if err := p.resume(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	done = true
	return p, nil
}

// resume reads the file, if Resume is set and the file exists.
func (p *progress) resume() error {
	if !p.set.Resume {
		return nil
	}
	f, err := file.Or(p.set.FS).Open(p.set.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return p.read(bufio.NewReader(f))
}

func (p *progress) read(r io.Reader) error {
	note, best, err := p.net.Resume(r)
	switch {
	case err == nil:
	case errors.Is(err, nn.ErrKernels):
		return err
	default:
		return fmt.Errorf("%w; remove the file to start over", err)
	}
	var saved progress
	if err := json.Unmarshal([]byte(note), &saved); err != nil {
		return fmt.Errorf("its note is not that of a stream: %w", err)
	}
	if saved.Batches < 1 {
		return fmt.Errorf("its note says that %d batches were learned from", saved.Batches)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Columns)) {
		if was, is := saved.Columns[name], p.Columns[name]; was != is {
			return fmt.Errorf("column %q is %s, the checkpoint was made with %s", name, is, cmp.Or(was, "none"))
		}
	}
	p.saved = saved.Place
	p.skip, p.First, p.want = saved.Batches, saved.First, [2]string{saved.First, saved.Stream}
	if p.set.best != nil {
		*p.set.best = best
	}
	if p.set.Restore != nil {
		return p.set.Restore(saved.State)
	}
	return nil
}

// pass counts a batch, and reports whether the checkpoint has it.
func (p *progress) pass(rec arrow.Record) (bool, error) {
	if p == nil {
		return false, nil
	}
	p.records++
	p.arrive(rec)
	if err := addDigest(&p.digest, rec); err != nil {
		return false, err
	}
	p.Batches++
	sum := hex.EncodeToString(p.digest[:])
	if p.Batches == 1 {
		p.First = sum
	}
	if p.Batches > p.skip {
		return false, nil
	}
	if p.Batches == 1 && sum != p.want[0] || p.Batches == p.skip && sum != p.want[1] {
		return false, fmt.Errorf("%s: the first %d batches of the stream are not those of the checkpoint; remove %[1]s to start over", p.set.File, p.skip)
	}
	return true, nil
}

// begin moves the source to the place of the checkpoint.
func (p *progress) begin(from *flow.Places) error {
	p.places = from
	if p.saved == nil {
		_, err := from.Place(0)
		return err
	}
	digest, err := hex.DecodeString(p.saved.Stream)
	if err == nil && (len(digest) != len(p.digest) || p.saved.Batches < 1 || p.saved.Batches >= p.skip) {
		err = errors.New("its place is not one of a stream")
	}
	if err == nil {
		err = from.Begin(p.saved.Place)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.set.File, err)
	}
	copy(p.digest[:], digest)
	p.Batches, p.now = p.saved.Batches, *p.saved
	return nil
}

// arrive notes the place of the source at the begin of a batch. A batch that begins between rows of one source row has no place.
func (p *progress) arrive(rec arrow.Record) {
	if p.places == nil {
		return
	}
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		p.places = nil
		return
	}
	if rows, ok := p.places.Rows(); ok && rows > 0 && pos[0] != p.pos {
		p.at, p.now = rows, mark{Batches: p.Batches, Stream: hex.EncodeToString(p.digest[:])}
	}
	p.places.Pass(pos)
	p.pos = pos[len(pos)-1]
}

// clean reports whether the file has the last step.
func (p *progress) clean() bool { return !p.dirty }

// done writes a checkpoint after a step, if one is due.
func (p *progress) done() error {
	if p == nil {
		return nil
	}
	p.dirty = true
	if time.Now().Before(p.deadline()) {
		return nil
	}
	return p.write()
}

// deadline returns the time of the next checkpoint, zero if the file has the last step.
func (p *progress) deadline() time.Time {
	if p == nil || !p.dirty {
		return time.Time{}
	}
	return p.written.Add(p.set.Every)
}

// close writes the last checkpoint, unless the run ended within a step (stepping).
func (p *progress) close(err error, stepping bool) (failed error) {
	if p == nil {
		return nil
	}
	defer func() { failed = errors.Join(failed, p.lock.Discard()) }()
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
	p.Place = nil
	if p.places != nil && p.now.Batches > 0 {
		if p.now.Place, err = p.places.Place(p.at); err != nil {
			return err
		}
		p.Place = &p.now
	}
	note, err := json.Marshal(p)
	if err != nil {
		return err
	}
	var best []float32
	if p.set.best != nil {
		best = *p.set.best
	}
	err = file.Write(p.set.FS, p.set.File, func(w io.Writer) error { return p.net.Checkpoint(w, string(note), best) })
	if err != nil {
		return err
	}
	p.dirty, p.written, p.durable = false, time.Now(), p.records
	if p.Place != nil {
		p.places.Keep(p.Place.Place)
	}
	return nil
}
