package sources_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/internal/arrowipc"
	"github.com/sanflow/sanflow/internal/tabular"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Any byte of a file that is another one is an error, before the first record;
// so is one that is missing. Without the comparison some are not seen.
func TestIPCSum(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)[:1]
	defer recs[0].Release()
	var out bytes.Buffer
	store(t, recs, sinks.IPC{W: &out})
	good := out.Bytes()
	read := func(b []byte, unverified bool) ([]string, error) {
		var src flow.Source = sources.IPC{Reader: bytes.NewReader(b)}
		if unverified {
			src = tabular.Files{
				Given: &tabular.Bytes{Reader: bytes.NewReader(b), At: bytes.NewReader(b), Size: int64(len(b))},
				Decode: func(in tabular.Bytes, budget *tabular.Budget) (tabular.Decoder, error) {
					return tabular.NewIPC(in, in.At, in.Size, false, budget)
				},
				Wrap: reading.InFile,
			}
		}
		rows, _, err := drain(src, memory.DefaultAllocator)
		return rows, err
	}
	want, err := read(good, false)
	if err != nil || len(want) == 0 {
		t.Fatal(len(want), err)
	}
	sums, unseen, step := 0, 0, 11
	if longTests() {
		step = 1
	}
	for at := 0; at < len(good); at += step {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		rows, err := read(bad, false)
		if err == nil || len(rows) > 0 || strings.Contains(err.Error(), "\n") {
			t.Errorf("byte %d of %d: %d rows, %v", at, len(good), len(rows), err)
		}
		if !errors.Is(err, arrowipc.ErrSum) {
			continue
		}
		sums++
		if rows, err := read(bad, true); err == nil && !slices.Equal(rows, want) {
			unseen++
		}
	}
	if unseen == 0 {
		t.Errorf("%d damaged files are told by the checksum, and each by its values too", sums)
	}
	t.Logf("%d bytes, a change of %d told by the checksum, %d by it alone", len(good), sums, unseen)

	if rows, err := read(unsummed(t, good), false); err != nil || !slices.Equal(rows, want) {
		t.Errorf("without a checksum: %d rows, %v", len(rows), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f, err := arrowipc.OpenFile(bytes.NewReader(good), int64(len(good)), nil)
	if err != nil || !f.HasSum() || f.Verify(context.Background()) != nil || f.Verify(ctx) != context.Canceled {
		t.Error(err, f.HasSum(), f.Verify(ctx))
	}
}
