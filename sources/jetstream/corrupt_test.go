package jetstream

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/nats-io/nats.go"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/jet"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/corrupt"
)

// stored is a stream as it was published: what a reader makes of it, and its messages.
type stored struct {
	info *nc.StreamInfo
	msgs []*nc.RawStreamMsg
	rows [][]string // of each message
}

// publish publishes a stream and reads it as it is.
func publish(t *testing.T, c Connection, name string, p flow.Pipeline) (s stored) {
	t.Helper()
	client := put(t, c, jet.Settings{Name: name}, p)
	stream, err := client.Find(t.Context(), name, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.info = stream.CachedInfo()
	d, err := newDecoder(s.info, memory.DefaultAllocator, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for seq := range s.info.State.LastSeq {
		m, err := client.Get(t.Context(), stream, seq+1)
		if err != nil {
			t.Fatal(err)
		}
		n, err := jet.Read(name, m.Subject, m.Header, m.Sequence)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := d.decode(t.Context(), &n, m.Data)
		if err != nil {
			t.Fatal(err)
		}
		s.msgs, s.rows = append(s.msgs, m), append(s.rows, flowtest.Rows(rec))
		rec.Release()
	}
	return s
}

// Damaged messages, most of them with the checksum of what they hold, are refused in one line,
// or are records as their headers say; they take no memory beyond the bound, and what only looks
// damaged is what it was.
func TestDamagedMessages(t *testing.T) {
	broker := jettest.Start(t, nil)
	c := Connection{URL: broker.ClientURL()}
	fields := operators.Recipe{operators.Select{W: 6}, operators.Assemble{K: 5}, operators.Normalize{Edges: true}}
	src := sources.Families{Graphs: 24, Rows: 4}
	streams := []stored{publish(t, c, "graphs", flow.From(src)), publish(t, c, "fields", fields.Onto(flow.From(src)))}

	jettest.Stop(broker) // what it allocates is not to be counted

	const most = 1 << 20 // for a message, whose records are some 10 KB
	rng := rand.New(rand.NewPCG(14, 1))
	refused, taken := 0, 0
	times := corrupt.Times(1)
	if corrupt.Long() {
		times = 10_000 // with the race detector too
	}
	for i := range times {
		s := streams[i%len(streams)]
		which := rng.IntN(len(s.msgs))
		m := damage(rng, s.msgs[which], s.msgs)
		rows, n, err := measured(t, s.info, m, most)
		for again := 0; n > 4*most && again < 3; again++ { // others allocate too, but not again and again at this moment
			_, less, _ := measured(t, s.info, m, most)
			n = min(n, less)
		}
		if n > 4*most {
			t.Errorf("damage %d: %d bytes were allocated: %v", i, n, err)
		}
		if err == nil {
			taken++
			if slices.Equal(m.Data, s.msgs[which].Data) && !slices.Equal(rows, s.rows[which]) {
				t.Errorf("damage %d: the body is as it was, and has other rows", i)
			}
			continue
		}
		refused++
		if text := err.Error(); strings.ContainsAny(text, "\n\r") || strings.Contains(text, "it cannot be read:") || len(text) > 500 {
			t.Errorf("damage %d: %q", i, text)
		}
	}
	t.Logf("%d were refused, %d taken", refused, taken)
	if refused < taken {
		t.Errorf("%d were taken, and %d refused", taken, refused)
	}
}

// measured decodes a message, and returns how many bytes were allocated meanwhile.
func measured(t *testing.T, info *nc.StreamInfo, m *nats.Msg, most int64) (rows []string, bytes uint64, err error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(record.Poison{})
	d, err := newDecoder(info, mem, most)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rows, err = decoded(t.Context(), d, info.Config.Name, m)
	runtime.ReadMemStats(&after)
	mem.AssertSize(t, 0)
	return rows, after.TotalAlloc - before.TotalAlloc, err
}

// decoded returns the rows of a message, which has to be what its headers say.
func decoded(ctx context.Context, d *decoder, stream string, m *nats.Msg) ([]string, error) {
	n, err := jet.Read(stream, m.Subject, m.Header, 1)
	if err != nil || n.Hole || n.End != nil || n.Object != "" {
		return nil, err
	}
	rec, err := d.decode(ctx, &n, m.Data)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	return flowtest.Rows(rec), nil // looks at each value
}

// damage returns a message with something changed in its body, its headers or both.
func damage(rng *rand.Rand, good *nc.RawStreamMsg, all []*nc.RawStreamMsg) *nats.Msg {
	m := &nats.Msg{Subject: good.Subject, Header: nats.Header{}, Data: good.Data}
	for k, v := range good.Header {
		m.Header[k] = slices.Clone(v)
	}
	if rng.IntN(4) > 0 {
		m.Data = corrupt.Damage(rng, good.Data)
		if rng.IntN(4) > 0 { // with a valid header, as a hostile sender would
			n, err := jet.Read(strings.TrimSuffix(m.Subject, m.Subject[strings.IndexByte(m.Subject, '.'):]), m.Subject, m.Header, 1)
			if err == nil {
				m.Header = jet.Record("x", n.Spans, n.Rows, m.Data).Header
			}
		}
	}
	if rng.IntN(3) == 0 {
		names := slices.Sorted(func(yield func(string) bool) {
			for k := range m.Header {
				if !yield(k) {
					return
				}
			}
		})
		for range 1 + rng.IntN(2) {
			name := names[rng.IntN(len(names))]
			m.Header[name] = []string{strange(rng, m.Header.Get(name), all[rng.IntN(len(all))].Header.Get(name))}
		}
	}
	if rng.IntN(8) == 0 {
		m.Subject = all[rng.IntN(len(all))].Subject
	}
	return m
}

// strange returns something that could stand in a header, of a message that a broker takes.
func strange(rng *rand.Rand, was, other string) string {
	s := anything(rng, was, other)
	return s[:min(len(s), 1<<20)]
}

func anything(rng *rand.Rand, was, other string) string {
	numbers := []int64{-1, 0, 1, 3, 1 << 31, 1 << 32, 1<<32 + 4, math.MaxInt64 - 1, math.MaxInt64}
	number := func() string { return strconv.FormatInt(numbers[rng.IntN(len(numbers))], 10) }
	switch rng.IntN(6) {
	case 0:
		return other
	case 1:
		return number()
	case 2:
		return number() + "-" + number()
	case 3:
		return was + "," + number()
	case 4:
		return strings.Repeat(was+",", 1+rng.IntN(1000)) + "x\n\x00\xff"
	}
	return string(corrupt.Damage(rng, []byte(was+"                ")))
}
