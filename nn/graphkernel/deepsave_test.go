package graphkernel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

func savedDeepFile(t testing.TB, lists int) (*Deep, []byte) {
	t.Helper()
	d := &Deep{Size: 4, Epochs: 2, Seed: 3, Info: map[string]string{"of": "topics"}}
	if err := d.Fit(context.Background(), topics(rand.New(rand.NewPCG(71, 72)), lists)); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := d.Save(&file); err != nil {
		t.Fatal(err)
	}
	return d, file.Bytes()
}

// Vectors that were kept compare as those that were learned, to the last bit.
func TestDeepSaveLoad(t *testing.T) {
	ctx := context.Background()
	counts := new(nn.Counts)
	counts.Append([]uint64{1, 2, 7}, []float64{1, 2, 3})
	counts.Append([]uint64{2, 3, 1 << 60}, []float64{4, 1, 9})
	for _, lists := range []int{0, 60} {
		d, file := savedDeepFile(t, lists)
		want, err := d.Gram(ctx, counts)
		if err != nil {
			t.Fatal(err)
		}
		loaded := &Deep{Workers: 2}
		if err := loaded.Load(bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		got, err := loaded.Gram(ctx, counts)
		if err != nil || !slices.Equal(got.K, want.K) {
			t.Errorf("%d lists: %v, want %v (%v)", lists, got, want, err)
		}
		var again bytes.Buffer
		if err := loaded.Save(&again); err != nil || !bytes.Equal(again.Bytes(), file) {
			t.Errorf("%d lists: saved again there are other bytes (%v)", lists, err)
		}
		if loaded.String() != d.String() || loaded.Metadata()["of"] != "topics" || loaded.Workers != 2 || !loaded.Trained() {
			t.Errorf("%v, want %v", loaded, d)
		}
		if err := loaded.Load(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), "has learned or been initialised already") {
			t.Errorf("loaded twice: %v", err)
		}
		if err := loaded.Fit(ctx, topics(rand.New(rand.NewPCG(1, 1)), 10)); err != nil {
			t.Errorf("learning anew: %v", err)
		}
	}
}

// A changed size between Fit and use changes nothing of what was learned.
func TestDeepSizeAfterFit(t *testing.T) {
	d, file := savedDeepFile(t, 40)
	d.Size = 9
	var again bytes.Buffer
	if err := d.Save(&again); err != nil || !bytes.Equal(again.Bytes(), file) {
		t.Errorf("other bytes (%v)", err)
	}
	if v := d.Vector(d.ids[0]); len(v) != 4 {
		t.Errorf("a vector of %d numbers", len(v))
	}
}

// What a checksum cannot know is looked at too.
func TestDeepLoadErrors(t *testing.T) {
	_, file := savedDeepFile(t, 30)
	for want, change := range map[string]func(f *modelfile.File){
		`holds a model "cnn", want "deep"`: func(f *modelfile.File) {
			f.Kind = "cnn"
		},
		"want ids that ascend": func(f *modelfile.File) {
			f.Tensors[0].U64[1] = f.Tensors[0].U64[0]
		},
		"want 1, or 0": func(f *modelfile.File) {
			f.Tensors[1].F32[2] = 7
		},
		"1 tensors, want": func(f *modelfile.File) { f.Tensors = f.Tensors[:1] },
		"Size is -1": func(f *modelfile.File) {
			f.Meta[modelfile.Settings] = strings.Replace(f.Meta[modelfile.Settings], `"size":4`, `"size":-1`, 1)
		},
		"vectors of 0 numbers": func(f *modelfile.File) {
			f.Meta[modelfile.Settings] = strings.Replace(f.Meta[modelfile.Settings], `"size":4`, `"size":0`, 1)
		},
		`"vectors" [20 4] of F32, want "vectors" [20 5]`: func(f *modelfile.File) {
			f.Meta[modelfile.Settings] = strings.Replace(f.Meta[modelfile.Settings], `"size":4`, `"size":5`, 1)
		},
	} {
		f, err := modelfile.Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		change(f)
		var bad bytes.Buffer
		if err := f.Write(&bad); err != nil {
			t.Fatal(err)
		}
		if err := new(Deep).Load(&bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := (&Deep{Size: 8}).Load(bytes.NewReader(file)); err == nil || err.Error() != "nn: load: Size is 8, the file has 4" {
		t.Error(err)
	}
	if _, err := nn.LoadPredictor(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), "*graphkernel.Deep.Load reads it") {
		t.Errorf("as a predictor: %v", err)
	}
	if _, err := nn.Load(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), "*graphkernel.Deep.Load reads it") {
		t.Errorf("as a model: %v", err)
	}
}

// Before Fit there is nothing to compare by, and nothing to keep.
func TestDeepUntrained(t *testing.T) {
	ctx, counts := context.Background(), new(nn.Counts)
	counts.Append([]uint64{7}, []float64{1})
	d := &Deep{Size: 4}
	_, gram := d.Gram(ctx, counts)
	_, compare := d.Compare(ctx, counts, counts)
	for i, err := range []error{gram, compare, d.Save(io.Discard)} {
		if err != nn.ErrUntrained {
			t.Errorf("use %d: %v", i, err)
		}
	}
	if d.Vector(7) != nil || d.Trained() {
		t.Error("there is a vector")
	}
}

// Whatever the bytes, Load returns; what it accepts is saved as itself.
func FuzzLoadDeep(f *testing.F) {
	for _, lists := range []int{0, 5} {
		_, file := savedDeepFile(f, lists)
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		var d, e Deep
		if d.Load(bytes.NewReader(deepSummed(file))) != nil {
			return
		}
		var once, twice bytes.Buffer
		if d.Save(&once) != nil {
			return // a key of Info that is not allowed
		}
		if err := e.Load(bytes.NewReader(once.Bytes())); err != nil {
			t.Fatal(err)
		}
		if err := e.Save(&twice); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatalf("not the same twice (%v)", err)
		}
	})
}

// deepSummed gives a file, where it is one, the checksum that it should have, so that
// fuzzing reaches what is behind that.
func deepSummed(file []byte) []byte {
	at := bytes.Index(file, []byte(`"sanflow.sha256":"`)) + 18
	if at < 18 || at+64 > len(file) {
		return file
	}
	file = bytes.Clone(file)
	copy(file[at:], strings.Repeat("0", 64))
	sum := sha256.Sum256(file)
	hex.Encode(file[at:], sum[:])
	return file
}
