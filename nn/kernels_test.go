package nn

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// A checkpoint of other kernels is told, and can be gone on with all the same.
func TestResumeOtherKernels(t *testing.T) {
	c := smallCNN(t)
	if _, err := c.step(smallBatch(4)); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := c.Checkpoint(&file, "note", nil); err != nil {
		t.Fatal(err)
	}
	f, err := modelfile.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, was := range []string{"arm64 generic", "amd64 avx512", ""} { // the second were those of earlier versions
		var other bytes.Buffer
		if err := modelfile.Save(&other, f, map[string]any{keyKernels: was}); err != nil {
			t.Fatal(err)
		}
		d := smallCNN(t)
		note, _, err := d.Resume(&other)
		if !errors.Is(err, ErrKernels) || !strings.Contains(err.Error(), Kernels()) || note != "note" {
			t.Errorf("%q, %v, want ErrKernels", note, err)
		}
		if d.Hash() != c.Hash() || d.Seen() != 4 {
			t.Error("the model was not resumed")
		}
	}
}
