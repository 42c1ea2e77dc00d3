package nn

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Checkpointer is a model whose training can be stopped after any step and gone
// on with later, to the same weights, byte for byte. All models are, but
// RBM and Autoencoder.
type Checkpointer interface {
	Model

	// Checkpoint writes the weights, the memory of the optimizer and the counts,
	// as a safetensors file. Dropout is a function of the seed and the count of
	// steps, so there is no other state. note is kept for the caller: where the
	// stream was, for one.
	Checkpoint(w io.Writer, note string) error

	// Resume makes an initialised model what it was at Checkpoint, and returns
	// the note. A file that is damaged, or was written by a model of other
	// settings or for data of another shape, is an error, and the model is as
	// before. ErrKernels alone comes with a model that has been resumed, and with
	// the note.
	Resume(r io.Reader) (note string, err error)
}

var _ Checkpointer = (*CNN)(nil)

const (
	metaCounts  = metaPrefix + "counts"
	metaNote    = metaPrefix + "note"
	metaKernels = metaPrefix + "kernels"
)

// ErrKernels is the error of Resume where the checkpoint was made by kernels that
// round otherwise than those of this machine. The model has been resumed: it can
// go on, but not to the weights that it would have had there.
var ErrKernels = errors.New("nn: resume: the checkpoint was made by other kernels")

// Kernels names those that compute here, such as "amd64 avx512" or "arm64 neon":
// training gives the same bytes only where they are the same. Go's own loops may
// round differently from one architecture to the next too.
func Kernels() string { return runtime.GOARCH + " " + kernel.Variant() }

// checkpointKind is put before the model's name, so that the file is not taken
// for a model.
const checkpointKind = "checkpoint of "

// counts is what a core counts.
type counts struct {
	Steps   int     `json:"steps"`
	Seen    int     `json:"seen"`
	Correct int     `json:"correct"`
	Loss    float64 `json:"loss"` // sums over the rows seen
	Abs     float64 `json:"abs"`
}

// Checkpoint writes all that training goes on from; see Checkpointer.
func (c *core) Checkpoint(w io.Writer, note string) error {
	if c == nil {
		return ErrNotReady
	}
	meta, list := c.checkpoint()
	if err := checkFinite(list); err != nil {
		return fmt.Errorf("nn: checkpoint: %w", err)
	}
	text, err := json.Marshal(counts{c.steps, c.seen, c.correct, c.lossSum, c.abs})
	if err != nil {
		return fmt.Errorf("nn: checkpoint: %w", err)
	}
	meta[metaCounts], meta[metaNote], meta[metaKernels] = string(text), note, Kernels()
	meta[metaSum] = checksum(meta, list)
	return writeTensors(w, meta, list)
}

// checkpoint returns the metadata that tell whose checkpoint it is, and the
// tensors. They share memory with c.
func (c *core) checkpoint() (map[string]string, []tensorData) {
	meta := maps.Clone(c.meta)
	meta[metaModel] = checkpointKind + meta[metaModel]
	list := c.work.tensors()
	for _, s := range c.opt.state() {
		list = append(list, tensorData{name: "optimizer." + s.name, shape: []int{len(s.x)}, x: s.x})
	}
	return meta, list
}

// Resume goes on from what Checkpoint wrote; see Checkpointer.
func (c *core) Resume(r io.Reader) (note string, err error) {
	if c == nil {
		return "", ErrNotReady
	}
	meta, list, err := readTensors(r)
	if err != nil {
		return "", err
	}
	n, err := c.resume(meta, list)
	if err != nil {
		return "", fmt.Errorf("nn: resume: %w", err)
	}
	c.steps, c.seen, c.correct, c.lossSum, c.abs = n.Steps, n.Seen, n.Correct, n.Loss, n.Abs
	if was := meta[metaKernels]; was != Kernels() {
		err = fmt.Errorf("%w: %s, these are %s", ErrKernels, cmp.Or(was, "unknown ones"), Kernels())
	}
	return meta[metaNote], err
}

// resume copies the tensors when all is as it should be.
func (c *core) resume(meta map[string]string, list []tensorData) (n counts, err error) {
	want, into := c.checkpoint()
	for _, f := range []struct{ key, what string }{
		{metaModel, "model"}, {metaVersion, "version"}, {metaShape, "shape of the data"}, {metaSettings, "settings"},
	} {
		if meta[f.key] != want[f.key] {
			return n, fmt.Errorf("the file is of another %s: %q, want %q", f.what, meta[f.key], want[f.key])
		}
	}
	if len(list) != len(into) {
		return n, fmt.Errorf("%d tensors, want %d", len(list), len(into))
	}
	for i, t := range into {
		if list[i].name != t.name || list[i].dtype != "" || !slices.Equal(list[i].shape, t.shape) {
			return n, fmt.Errorf("tensor %d is %q %v, want %q %v", i, list[i].name, list[i].shape, t.name, t.shape)
		}
	}
	if got := checksum(meta, list); got != meta[metaSum] {
		return n, fmt.Errorf("the file is damaged: its checksum is %s, want %q", got, meta[metaSum])
	}
	if err := strictJSON([]byte(meta[metaCounts]), &n); err != nil {
		return n, fmt.Errorf("counts: %w", err)
	}
	if n.Steps < 0 || n.Seen < n.Correct || n.Correct < 0 {
		return n, fmt.Errorf("counts: %+v", n)
	}
	for i, t := range into {
		copy(t.x, list[i].x)
	}
	return n, nil
}
