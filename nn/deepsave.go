package nn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

const deepKind = "deep"

// savedDeep is what a file says of a Deep beside its tensors.
type savedDeep struct {
	Size      int     `json:"size"`
	Window    int     `json:"window"`
	Negatives int     `json:"negatives"`
	Epochs    int     `json:"epochs"`
	Rate      float64 `json:"rate"`
	Seed      uint64  `json:"seed"`
}

// Save writes what was learned, which Load reads: a safetensors file, which other
// tools read too, with a row for each of the n things, in the order of their ids, and
// the settings and Info as its metadata. The same vectors give the same bytes.
//
//	ids      (n)        uint64, ascending
//	vectors  (n, Size)  float32, of unit length
//
// One that has learned from contexts without things has neither tensor, and one that
// has not learned is an ErrUntrained.
func (d *Deep) Save(w io.Writer) error {
	if !d.fitted {
		return ErrUntrained
	}
	s := d.resolved()
	text, err := json.Marshal(savedDeep{d.size, s.Window, s.Negatives, s.Epochs, s.Rate, s.Seed})
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	var list []tensorData
	if n := len(d.ids); n > 0 {
		list = []tensorData{{name: "ids", shape: []int{n}, dtype: "U64", wide: d.ids}, {name: "vectors", shape: []int{n, d.size}, x: d.vectors}}
	}
	if err := checkFinite(list); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return saveTensors(w, map[string]string{metaModel: deepKind, metaVersion: fileVersion, metaSettings: string(text)}, d.Info, list)
}

// Load reads what Save wrote, up to the end of r. Settings come from the file: Size
// must be zero or agree, and those of learning stay when they are set. A file that is
// damaged, or is not a Deep, is an error, and d is as before.
func (d *Deep) Load(r io.Reader) error {
	if d.fitted {
		return errors.New("nn: load: the model has learned already")
	}
	meta, list, err := readTensors(r)
	if err != nil {
		return err
	}
	next := *d
	if err := next.restore(meta, list); err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	*d = next
	return nil
}

func (d *Deep) restore(meta map[string]string, list []tensorData) error {
	if err := checkKind(meta, deepKind); err != nil {
		return err
	}
	var saved savedDeep
	if err := strictJSON([]byte(meta[metaSettings]), &saved); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if got := checksum(meta, list); got != meta[metaSum] {
		return fmt.Errorf("the file is damaged: its checksum is %s, want %q", got, meta[metaSum])
	}
	if d.Size != 0 && d.Size != saved.Size {
		return fmt.Errorf("%s is %d, the file has %d", "Size", d.Size, saved.Size)
	}
	setZero(&d.Size, saved.Size)
	setZero(&d.Window, saved.Window)
	setZero(&d.Negatives, saved.Negatives)
	setZero(&d.Epochs, saved.Epochs)
	setZero(&d.Rate, saved.Rate)
	setZero(&d.Seed, saved.Seed)
	if err := d.check(); err != nil {
		return err
	}
	if d.Size < 1 {
		return fmt.Errorf("settings: vectors of %d numbers", d.Size)
	}
	d.Info, d.size, d.fitted = userInfo(meta), d.Size, true
	return d.restoreVectors(list)
}

// restoreVectors takes over the tensors of a file.
func (d *Deep) restoreVectors(list []tensorData) error {
	if len(list) == 0 {
		return nil
	}
	t := byName(list)
	ids, err := t.of("ids", "U64")
	if err != nil {
		return err
	}
	v := t["vectors"]
	if n := len(ids); len(list) != 2 || n == 0 || v.dtype != "" || len(v.shape) != 2 || v.shape[0] != n || v.shape[1] != d.size {
		return fmt.Errorf("%d tensors, of them vectors %v of %d ids, want 2 and (%d, %d)", len(list), v.shape, n, n, d.size)
	}
	for i := range ids {
		if i > 0 && ids[i] <= ids[i-1] {
			return fmt.Errorf("id %d is %#x after %#x, want ids that ascend", i, ids[i], ids[i-1])
		}
		squares := 0.0
		for _, x := range v.x[i*d.size : (i+1)*d.size] {
			squares += float64(x) * float64(x)
		}
		if squares != 0 && !(math.Abs(squares-1) < 1e-3) {
			return fmt.Errorf("the vector of %#x has the square %v, want 1, or 0", ids[i], squares)
		}
	}
	d.ids, d.vectors = ids, v.x
	return nil
}

// Notes returns Info, which it makes where it is nil.
func (d *Deep) Notes() map[string]string { return notes(&d.Info) }

// Trained reports whether vectors were learned, or loaded.
func (d *Deep) Trained() bool { return d.fitted }

// String returns the settings in one line, zero ones as what they stand for, and how
// many vectors there are.
func (d *Deep) String() string {
	s := d.resolved()
	text := fmt.Sprintf("Deep{Size: %d, Window: %d, Negatives: %d, Epochs: %d, Rate: %v, Seed: %d", s.Size, s.Window, s.Negatives, s.Epochs, s.Rate, s.Seed)
	if d.fitted {
		text += fmt.Sprintf(", %d vectors", len(d.ids))
	}
	return text + "}"
}
