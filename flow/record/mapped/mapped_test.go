package mapped_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/mapped"
)

// write writes records as an IPC file and returns its path.
func write(tb testing.TB, recs []arrow.Record, opts ...ipc.Option) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "graphs.arrow")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w, err := ipc.NewFileWriter(f, append(opts, ipc.WithSchema(recs[0].Schema()))...)
	for _, rec := range recs {
		if err == nil {
			err = w.Write(rec)
		}
	}
	if err = errors.Join(err, w.Close(), f.Close()); err != nil {
		tb.Fatal(err)
	}
	return path
}

// sample is the stream of flowtest, with a record without rows and with parts of
// others.
func sample(tb testing.TB) []arrow.Record {
	recs := flowtest.Sample(memory.DefaultAllocator)
	recs = append(recs, recs[0].NewSlice(0, 0), recs[2].NewSlice(2, 5))
	tb.Cleanup(func() {
		for _, rec := range recs {
			rec.Release()
		}
	})
	return recs
}

// mappings counts the mappings of a file, where the system tells.
func mappings(tb testing.TB, path string) int {
	tb.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		tb.Skip(err)
	}
	return strings.Count(string(maps), path)
}

// A mapped record has the values that were written, and lives until its last
// buffer is released, whatever becomes of the file.
func TestRecord(t *testing.T) {
	recs := sample(t)
	path := write(t, recs)
	f, err := mapped.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Schema().Equal(recs[0].Schema()) {
		t.Errorf("the schema is %v, want %v", f.Schema(), recs[0].Schema())
	}
	if f.Len() != len(recs) {
		t.Fatalf("%d records, want %d", f.Len(), len(recs))
	}
	var got []arrow.Record
	for i := range f.Len() {
		rec, err := f.Record(i)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rec)
	}
	if err := errors.Join(f.Close(), f.Close(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	for i, rec := range got {
		a, b := flowtest.Rows(rec), flowtest.Rows(recs[i])
		if strings.Join(a, "\n") != strings.Join(b, "\n") {
			t.Errorf("record %d is\n%v\nwant\n%v", i, a, b)
		}
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		var g graph.Graph
		for row := range gs.Len() {
			gs.At(row, &g)
			if err := g.Check(); err != nil {
				t.Error(err)
			}
		}
	}
	for i, rec := range got {
		if i == len(got)-1 && runtime.GOOS == "linux" && mappings(t, path) != 1 {
			t.Errorf("%d mappings while a record is in use, want 1", mappings(t, path))
		}
		rec.Release()
	}
	if n := mappings(t, path); n != 0 {
		t.Errorf("%d mappings are left", n)
	}
}

func TestErrors(t *testing.T) {
	recs := sample(t)
	good, err := os.ReadFile(write(t, recs))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not an Arrow IPC file"},
		{"text", []byte(strings.Repeat("graph ", 100)), "not an Arrow IPC file"},
		{"magic only", []byte("ARROW1\x00\x00\x00\x00ARROW1"), "not an Arrow IPC file"},
		{"truncated", good[:len(good)-1], "not an Arrow IPC file"},
		{"half", good[:len(good)/2], "not an Arrow IPC file"},
		{"footer too long", append(append([]byte{}, good[:len(good)-10]...), "\xff\xff\xff\x7fARROW1"...), "a footer of 2147483647 bytes"},
		{"negative footer", append(append([]byte{}, good[:len(good)-10]...), "\xff\xff\xff\xffARROW1"...), "a footer of -1 bytes"},
		{"beginning cut off", append([]byte("ARROW1\x00\x00"), good[len(good)/2/8*8:]...), "block 0 begins at"},
	} {
		path := filepath.Join(t.TempDir(), "bad.arrow")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := mapped.Open(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v, want %s", c.name, err, c.want)
		}
		if n := mappings(t, path); n != 0 {
			t.Errorf("%s: %d mappings are left", c.name, n)
		}
	}
	if _, err := mapped.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := mapped.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	f, err := mapped.Open(write(t, recs, ipc.WithLZ4()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Record(0); err == nil || !strings.Contains(err.Error(), "record 0: it is compressed") {
		t.Errorf("a compressed file: %v", err)
	}
}

// Types that are not mapped are refused with the name of their column.
func TestTypes(t *testing.T) {
	b := record.NewColumn[int32](memory.DefaultAllocator)
	defer b.Release()
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Boolean, arrow.StructOf()} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "odd", Type: typ}}, nil)
		path := filepath.Join(t.TempDir(), "odd.arrow")
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := ipc.NewFileWriter(out, ipc.WithSchema(schema))
		if err = errors.Join(err, w.Close(), out.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := mapped.Open(path); err == nil || !strings.Contains(err.Error(), `column "odd"`) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// probe opens bytes as a file and reads all that can be read.
func probe(tb testing.TB, data []byte) {
	released := 0
	f, err := mapped.OpenBytes(data, func() { released++ })
	if err == nil {
		read(f)
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	}
	if released != 1 {
		tb.Errorf("the file was unmapped %d times", released)
	}
}

func read(f *mapped.File) {
	for i := range f.Len() {
		rec, err := f.Record(i)
		if err != nil {
			continue
		}
		if gs, err := record.GraphsOf(rec); err == nil {
			var g graph.Graph
			for row := range gs.Len() {
				gs.At(row, &g)
				_ = g.Check()
			}
		}
		rec.Release()
	}
}

// Damaged files are errors, or damaged values, and never a panic.
func TestCorruption(t *testing.T) {
	good, err := os.ReadFile(write(t, sample(t)[:2]))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(41, 42))
	tries := 1000
	if os.Getenv("SANFLOW_LONG") != "" {
		tries = 10_000
	}
	for range tries {
		bad := append([]byte{}, good...)
		for range 1 + rng.IntN(4) {
			i := rng.IntN(len(bad))
			if rng.IntN(2) == 0 { // the footer, and the metadata before it
				i = len(bad) - 1 - rng.IntN(min(len(bad), 2000))
			}
			bad[i] = []byte{0, 0xff, 0x7f, 0x80, byte(rng.Uint32())}[rng.IntN(5)]
		}
		if rng.IntN(8) == 0 {
			bad = bad[:rng.IntN(len(bad))]
		}
		probe(t, bad)
	}
}

func FuzzOpen(f *testing.F) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	for _, rec := range recs {
		defer rec.Release()
	}
	good, err := os.ReadFile(write(f, recs[:1]))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte("ARROW1\x00\x00\x00\x00ARROW1"))
	f.Fuzz(func(t *testing.T, data []byte) { probe(t, data) })
}
