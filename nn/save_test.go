package nn

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// small is a network of a few hundred weights with every kind of channel.
var small = Shape{W: 4, K: 2, Cats: []int{3, 2}, Attrs: 2, Classes: 3}

func smallCNN(t testing.TB) *CNN {
	t.Helper()
	c := &CNN{
		Maps1: 5, Maps2: 3, Size2: 3, Hidden: 6, Seed: 7,
		Learner: Learner{info: map[string]string{"classes": "a,b,ç", "select": "betweenness"}},
	}
	if err := c.Init(small); err != nil {
		t.Fatal(err)
	}
	c.given = true
	return c
}

func saved(t testing.TB, m Model) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := m.Save(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestSaveLoad(t *testing.T) {
	c := smallCNN(t)
	b := smallBatch(9)
	for range 20 {
		if _, err := c.step(b); err != nil {
			t.Fatal(err)
		}
	}
	file := saved(t, c)
	var d CNN
	if err := into(&d, bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, saved(t, &d)) {
		t.Error("saved, loaded and saved again: the bytes differ")
	}
	if c.Hash() != d.Hash() || len(c.Hash()) != 64 {
		t.Errorf("hash %s after loading, want %s", d.Hash(), c.Hash())
	}
	if c.String() != d.String() {
		t.Errorf("settings %v after loading, want %v", &d, c)
	}
	if err := d.Init(small); err != nil {
		t.Errorf("Init after Load: %v", err)
	}
	p, q := make([]float32, 9*3), make([]float32, 9*3)
	if err := c.predict(p, b); err != nil {
		t.Fatal(err)
	}
	if err := d.predict(q, b); err != nil {
		t.Fatal(err)
	}
	for i := range p {
		if p[i] != q[i] {
			t.Fatalf("prediction %d is %v after loading, want %v", i, q[i], p[i])
		}
	}
}

// The file read by its specification, not by readTensors.
func TestSaveIsSafetensors(t *testing.T) {
	c := smallCNN(t)
	file := saved(t, c)
	n := int(binary.LittleEndian.Uint64(file))
	if n%8 != 0 || file[8] != '{' {
		t.Errorf("a header of %d bytes that begins with %q, want a multiple of 8 and {", n, file[8])
	}
	var header map[string]struct {
		DType   string `json:"dtype"`
		Shape   []int
		Offsets []int `json:"data_offsets"`
	}
	text := file[8 : 8+n]
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var meta map[string]string
	if err := json.Unmarshal(all["__metadata__"], &meta); err != nil {
		t.Fatal(err)
	}
	if meta["classes"] != "a,b,ç" || meta["sanflow.model"] != "cnn" {
		t.Errorf("metadata %v", meta)
	}
	if err := json.Unmarshal(text, &header); err != nil {
		t.Fatal(err)
	}
	data := file[8+n:]
	for _, w := range c.work.List {
		e, ok := header[w.Name]
		if !ok || e.DType != "F32" {
			t.Errorf("%s: %+v", w.Name, e)
			continue
		}
		for i, x := range w.W {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(data[e.Offsets[0]+4*i:])); got != x {
				t.Fatalf("%s[%d] = %v in the file, want %v", w.Name, i, got, x)
			}
		}
		delete(header, w.Name)
	}
	if len(header) != 1 {
		t.Errorf("the file has more tensors than the network: %v", header)
	}
}

func TestLoadErrors(t *testing.T) {
	file := saved(t, smallCNN(t))
	replace := func(old, new string) []byte {
		if !bytes.Contains(file, []byte(old)) || len(old) != len(new) {
			t.Fatalf("bad case %q", old)
		}
		return summed(bytes.Replace(file, []byte(old), []byte(new), 1))
	}
	huge := binary.LittleEndian.AppendUint64(nil, 1<<62)
	for _, test := range []struct {
		name string
		net  CNN
		file []byte
		want string
	}{
		{"empty", CNN{}, nil, "ends within its header length"},
		{"huge header", CNN{}, huge, "not a safetensors file: a header of 4611686018427387904 bytes"},
		{"no header", CNN{}, file[:100], "ends within its header"},
		{"truncated", CNN{}, file[:len(file)-1], "truncated"},
		{"goes on", CNN{}, append(bytes.Clone(file), 0), "goes on after"},
		{"not JSON", CNN{}, replace(`{"__meta`, `["__meta`), "header: invalid character"},
		{"other type", CNN{}, replace(`"F32"`, `"I32"`), `type "I32", want F32`},
		{"other model", CNN{}, replace(`"cnn"`, `"abc"`), `holds a model "abc"`},
		{"other version", CNN{}, replace(`"sanflow.version":"4"`, `"sanflow.version":"3"`), `version "3", want "4"`},
		{"a changed seed", CNN{}, bytes.Replace(file, []byte(`\"seed\":7`), []byte(`\"seed\":8`), 1), "damaged"},
		{"a changed note", CNN{}, bytes.Replace(file, []byte("betweenness"), []byte("betweenmess"), 1), "damaged"},
		{"another merge layer", CNN{}, replace(`\"Merge\":\"concat\"`, `\"Merge\":\"nearby\"`), `settings: Merge is "nearby", want one of ["concat"]`},
		{"a setting of an optimizer", CNN{}, replace(`\"ClipNorm\":0`, `\"ClipNorm\":2`), "optimizer rmsprop: the file has"},
		{"a missing tensor", CNN{}, replace(`"out.bias"`, `"out.bibs"`), `tensor 8: a tensor is "out.bibs" [3] of F32, want "out.bias" [3] of F32`},
	} {
		err := into(&test.net, bytes.NewReader(test.file))
		if err == nil || !strings.HasPrefix(err.Error(), "nn: load: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		if test.net.learner != nil {
			t.Errorf("%s: the failed load left a network", test.name)
		}
	}
}

func TestSaveErrors(t *testing.T) {
	if err := new(CNN).Save(new(bytes.Buffer)); err != ErrNotReady {
		t.Errorf("before Init: %v", err)
	}
	for key, value := range map[string]string{"": "x", "sanflow.x": "x", "x": "\xff"} {
		c := smallCNN(t)
		c.info = map[string]string{key: value}
		if c.Save(new(bytes.Buffer)) == nil {
			t.Errorf("note %q: %q was saved", key, value)
		}
	}
	c := smallCNN(t)
	c.work.out.Bias.W[1] = float32(math.NaN())
	if err := c.Save(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "value 1 of out.bias is NaN") {
		t.Errorf("NaN weight: %v", err)
	}
}

// summed gives a file, where it is one, the checksum that it should have, so that
// fuzzing reaches what is behind that.
func summed(file []byte) []byte {
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

// Whatever the bytes, Load returns; what it accepts is saved as itself.
func FuzzLoad(f *testing.F) {
	for _, test := range modelCases {
		m := test.new()
		if err := m.Init(test.s); err != nil {
			f.Fatal(err)
		}
		learnerOf(m).given = true
		file := saved(f, m)
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		file = summed(file)
		m, err := loadModel(bytes.NewReader(file))
		if err != nil {
			if m != nil {
				t.Fatal("a failed load gave a model")
			}
			return
		}
		once := saved(t, m)
		again, err := loadModel(bytes.NewReader(once))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once, saved(t, again)) {
			t.Fatal("saved, loaded and saved again: the bytes differ")
		}
	})
}
