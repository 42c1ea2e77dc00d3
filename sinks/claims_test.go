package sinks_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// changed returns a model's file with other metadata, and the checksum that it should
// have.
func changed(t *testing.T, file []byte, change func(meta map[string]string)) []byte {
	t.Helper()
	n := 8 + binary.LittleEndian.Uint64(file)
	var header map[string]json.RawMessage
	var meta map[string]string
	if err := json.Unmarshal(file[8:n], &header); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(header["__metadata__"], &meta); err != nil {
		t.Fatal(err)
	}
	change(meta)
	zeros := strings.Repeat("0", 2*sha256.Size)
	meta["sanflow.sha256"] = zeros
	header["__metadata__"], _ = json.Marshal(meta)
	text, _ := json.Marshal(header)
	out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	out = append(out, file[n:]...)
	sum := sha256.Sum256(out)
	return bytes.Replace(out, []byte(zeros), []byte(hex.EncodeToString(sum[:])), 1)
}

// counter is a model that has learned from what a recipe counts.
func counter(t *testing.T, recipe operators.Recipe, src flow.Source) *nn.Logistic {
	t.Helper()
	m := &nn.Logistic{Width: 64}
	if err := recipe.Onto(flow.From(src)).Via(operators.Batch{Size: 60}).To(sinks.Train{Net: m}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// A file whose shape claims classes that were not learned is refused before
// any memory is taken for them, whatever its recipe says.
func TestReadClaimedClasses(t *testing.T) {
	src := sources.Families{Graphs: 60, Seed: 9}
	graphs, layout := collectedGraphs(t, src)
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: []count.Counter{count.WL{Height: 1}}}}
	var b bytes.Buffer
	if err := sinks.Write(&b, counter(t, recipe, src), recipe); err != nil {
		t.Fatal(err)
	}
	if p, err := sinks.Read(bytes.NewReader(changed(t, b.Bytes(), func(map[string]string) {}))); err != nil {
		t.Fatal(err)
	} else if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	names, _ := json.Marshal(layout.Classes)
	for _, classes := range []string{"100000000000", "4611686018427387904", "1000000000", "1000000", "7", "5", "0"} {
		for _, dropped := range []bool{false, true} {
			file := changed(t, b.Bytes(), func(meta map[string]string) {
				meta["sanflow.shape"] = strings.Replace(meta["sanflow.shape"], `"Classes":6`, `"Classes":`+classes, 1)
				if dropped {
					meta["recipe"] = strings.Replace(meta["recipe"], string(names), "null", 1)
				}
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := sinks.Read(bytes.NewReader(file))
			if err == nil {
				_, err = p.Predict(t.Context(), graphs[0])
				p.Close()
			}
			runtime.ReadMemStats(&after)
			if err == nil || after.TotalAlloc-before.TotalAlloc > 20<<20 {
				t.Errorf("%s classes, names dropped %t: %v after %d bytes", classes, dropped, err, after.TotalAlloc-before.TotalAlloc)
			}
		}
	}
}

// A file whose recipe plays a graph many times is refused: an answer would take memory
// without a bound. So is the recipe where it is saved.
func TestReadClaimedEpochs(t *testing.T) {
	src := sources.Families{Graphs: 60, Seed: 9}
	_, layout := collectedGraphs(t, src)
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: []count.Counter{count.WL{Height: 1}}}, operators.Replay{}}
	net := counter(t, recipe[:2], src)
	var b bytes.Buffer
	if err := sinks.Write(&b, net, recipe); err != nil {
		t.Fatal(err)
	}
	const want = "plays each row 9223372036854775807 times"
	p, err := sinks.Read(bytes.NewReader(changed(t, b.Bytes(), func(meta map[string]string) {
		meta["recipe"] = strings.Replace(meta["recipe"], `"Replay"`, `"Replay","Epochs":9223372036854775807`, 1)
	})))
	if err == nil {
		p.Close()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("read: %v, want %s", err, want)
	}
	recipe[2] = operators.Replay{Epochs: math.MaxInt}
	if err := sinks.Write(&b, net, recipe); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("write: %v, want %s", err, want)
	}
}

// Whatever bit of a file is flipped, it is refused: the recipe and the names of the
// classes are the user's notes, and covered too.
func TestReadDamaged(t *testing.T) {
	src := sources.Families{Graphs: 12}
	_, layout := collectedGraphs(t, src)
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: []count.Counter{count.WL{Height: 1}}}}
	m := &nn.Logistic{Width: 4}
	fields, err := flow.OpenDirect(layout.Schema(), flow.Options{}, recipe...)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := sinks.Shape(fields.Schema())
	if err := errors.Join(err, fields.Close(), m.Init(shape)); err != nil {
		t.Fatal(err)
	}
	if err := m.SetWeights(m.AppendWeights(nil)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := sinks.Write(&b, m, recipe); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	for i := range file {
		for bit := range 8 {
			file[i] ^= 1 << bit
			if p, err := sinks.Read(bytes.NewReader(file)); err == nil {
				p.Close()
				t.Fatalf("bit %d of byte %d of %d was flipped, and the file was read", bit, i, len(file))
			}
			file[i] ^= 1 << bit
		}
	}
}
