package sources_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record/mapped"
	"github.com/sanflow/sanflow/internal/arrowipc"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// cap1 is what a reader may take for a batch.
const cap1 = 1 << 20

func TestIPCDamaged(t *testing.T) {
	made := stages(t)
	for _, name := range []string{"graphs", "hoods", "fields"} {
		for _, compression := range []string{"", "lz4", "zstd"} {
			t.Run(name+compression, func(t *testing.T) {
				var file bytes.Buffer
				store(t, made[name], sinks.IPC{W: &file, Compression: compression})
				damageRun(t, file.Bytes(), damageTimes(9), 16*cap1, func(b []byte) error {
					_, _, err := drain(sources.IPC{Reader: bytes.NewReader(b), MaxBytes: cap1}, memory.DefaultAllocator)
					return err
				})
			})
		}
	}
}

func FuzzIPC(f *testing.F) {
	for _, recs := range stages(f) {
		for _, compression := range []string{"", "lz4", "zstd"} {
			var file, stream bytes.Buffer
			store(f, recs, sinks.IPC{W: &file, Compression: compression})
			store(f, recs, sinks.IPC{W: &stream, Stream: true, Compression: compression})
			f.Add(file.Bytes())
			f.Add(stream.Bytes())
		}
	}
	f.Fuzz(differ)
}

// differ reads bytes with three readers. What sources.IPC takes, Arrow's own
// reader takes too, and so does package mapped if it is a file and not
// compressed, and they see the same rows. Arrow's is asked only then, since
// other bytes can make it panic, or take all memory.
func differ(t *testing.T, b []byte) {
	rows, schema, err := drain(sources.IPC{Reader: bytes.NewReader(b), MaxBytes: cap1}, memory.DefaultAllocator)
	if err != nil || len(rows) == 0 {
		return
	}
	compare := func(name string, recs []arrow.Record, err error) {
		var got []string
		for _, rec := range recs {
			if !rec.Schema().Equal(schema) {
				return // something was converted, or filled in
			}
			got = append(got, flowtest.Rows(rec)...)
		}
		if err != nil || !slices.Equal(got, rows) {
			t.Errorf("%s reads %v, %v, want %v", name, got, err, rows)
		}
	}
	recs, err := peerRead(b)
	compare("Arrow", recs, err)
	if !arrowipc.IsFile(b) {
		return
	}
	path := filepath.Join(t.TempDir(), "a.arrow")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := mapped.Open(path)
	if err != nil {
		return // it has columns that are not read
	}
	defer f.Close()
	recs = nil
	for i := range f.Len() {
		rec, err := f.Record(i)
		if err != nil {
			if !strings.Contains(err.Error(), "compressed") && !strings.Contains(err.Error(), "multiple of 8") {
				t.Errorf("mapped: %v", err)
			}
			return
		}
		defer rec.Release()
		recs = append(recs, rec)
	}
	compare("mapped", recs, nil)
}

// peerRead reads with Arrow's library.
func peerRead(b []byte) (recs []arrow.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if arrowipc.IsFile(b) {
		f, err := ipc.NewFileReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		for i := range f.NumRecords() {
			rec, err := f.RecordAt(i)
			if err != nil {
				return nil, err
			}
			recs = append(recs, rec)
		}
		return recs, nil
	}
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for r.Next() {
		rec := r.Record()
		rec.Retain()
		recs = append(recs, rec)
	}
	return recs, r.Err()
}

// Damaged files that are taken are what other readers take them for.
func TestIPCPeers(t *testing.T) {
	made := stages(t)
	n := damageTimes(6)
	for _, name := range []string{"graphs", "fields"} {
		for _, s := range []sinks.IPC{{}, {Stream: true}, {Compression: "lz4"}} {
			var file bytes.Buffer
			s.W = &file
			store(t, made[name], s)
			rng := rand.New(rand.NewPCG(uint64(file.Len()), 3))
			for range n {
				differ(t, damage(rng, file.Bytes()))
			}
		}
	}
}
