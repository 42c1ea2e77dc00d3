package message

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/internal/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// script is a topic whose receiver returns some messages, then waits, and remembers what was
// acknowledged, as "producer/number handle".
type script struct {
	messages []Message
	acked    []string
}

func (s *script) String() string                            { return "script" }
func (s *script) Receive(context.Context) (Receiver, error) { return &scripted{s, 0}, nil }
func (s *script) Send(context.Context) (Sender, error)      { return nil, io.ErrClosedPipe }
func (s *script) Follow(context.Context, map[string]int64) (Receiver, error) {
	return nil, io.ErrClosedPipe
}

type scripted struct {
	*script
	n int
}

func (r *scripted) Receive(ctx context.Context) ([]Message, error) {
	if r.n == len(r.messages) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	m := r.messages[r.n]
	m.Handle = r.n
	r.n++
	return []Message{m}, nil
}

func (r *scripted) Ack(m Message) { r.acked = append(r.acked, fmt.Sprintf("%s %d", m.ID(), m.Handle)) }
func (r *scripted) Close() error  { return nil }

// rowsOf are messages of JSON rows: "a1:2" is message 1 of the producer a with 2 rows.
func rowsOf(list string) (s *script) {
	s = &script{}
	for _, text := range strings.Fields(list) {
		var m Message
		var rows int
		m.Producer = text[:1]
		if _, err := fmt.Sscanf(text[1:], "%d:%d", &m.Number, &rows); err != nil {
			panic(err)
		}
		for i := range rows {
			m.Body = fmt.Appendf(m.Body, "{\"row\":\"%s.%d\"}\n", text, i)
		}
		s.messages = append(s.messages, m)
	}
	return s
}

// lines reads the rows of messages to the end of Idle, as reader reads records.
func (in *intake) lines(ctx context.Context) (all []string, err error) {
	for {
		var rows []string
		_, skip, err := in.take(ctx, func(m Message) (int64, error) {
			if rows = strings.Fields(string(m.Body)); len(rows) > 0 && rows[0][0] != '{' {
				return 0, errors.New("it is no row")
			}
			return int64(len(rows)), nil
		})
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		for _, row := range rows[skip:] {
			all = append(all, strings.TrimSuffix(strings.TrimPrefix(row, `{"row":"`), `"}`))
		}
	}
}

func read(t *testing.T, s *script, place string) (rows []string, r *intake) {
	t.Helper()
	r, err := Source{Topic: s, Idle: 20 * time.Millisecond}.intake(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	switch place {
	case "":
	case "new":
		_, err = r.Place(0)
	default:
		err = r.Begin(place)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rows, err = r.lines(t.Context()); err != nil {
		t.Fatal(err)
	}
	return rows, r
}

// TestComplete acknowledges by rows: a message when its last row is complete, in all deliveries,
// and those before it are.
func TestComplete(t *testing.T) {
	s := rowsOf("a1:2 b1:1 a1:2 a2:0 b2:3")
	rows, r := read(t, s, "")
	if got := fmt.Sprint(rows); got != "[a1:2.0 a1:2.1 b1:1.0 b2:3.0 b2:3.1 b2:3.2]" {
		t.Errorf("rows %s", got)
	}
	for _, c := range []struct {
		rows int64
		want string
	}{
		{1, "[]"}, {2, "[a/1 0]"}, {5, "[a/1 0 b/1 1 a/1 2 a/2 3]"}, {6, "[a/1 0 b/1 1 a/1 2 a/2 3 b/2 4]"},
	} {
		if r.complete(c.rows); fmt.Sprint(s.acked) != c.want {
			t.Errorf("%d rows: %v, want %s", c.rows, s.acked, c.want)
		}
	}
	if n := r.Notes(); n["received"] != 5 || n["repeated"] != 1 || n["in hand"] != 0 {
		t.Errorf("notes %v", n)
	}
}

// TestOrder puts the messages of producers in order, and resumes at every place.
func TestOrder(t *testing.T) {
	const list = "a2:1 b1:2 a1:3 a4:1 a3:2 b1:2 b3:1 b2:1"
	all, r := read(t, rowsOf(list), "new")
	if got := fmt.Sprint(all); got != "[b1:2.0 b1:2.1 a1:3.0 a1:3.1 a1:3.2 a2:1.0 a3:2.0 a3:2.1 a4:1.0 b2:1.0 b3:1.0]" {
		t.Fatalf("rows %s", got)
	}
	for n := range len(all) + 1 {
		place, err := r.Place(int64(n))
		if err != nil {
			t.Fatal(err)
		}
		s := rowsOf(list)
		rest, again := read(t, s, place)
		both := append(slices.Clone(all[:n]), rest...)
		slices.Sort(both)
		want := slices.Clone(all)
		slices.Sort(want)
		if !slices.Equal(both, want) {
			t.Errorf("%d rows, place %s: then %v", n, place, rest)
		}
		end, err := again.Place(int64(len(rest)))
		if err != nil {
			t.Fatal(err)
		}
		again.Keep(end)
		if len(s.acked) != len(s.messages) {
			t.Errorf("%d rows: acknowledged %v, want all", n, s.acked)
		}
	}
	if _, err := r.Place(100); err == nil {
		t.Error("there is a place after rows that were not handed out")
	}
}

// TestMissing wants an error where a message never comes.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		list, place string
		want        string
	}{
		{"a1:1 a3:1 a4:1", "new", `script: message 2 of the producer "a" is missing, and 2 messages wait behind it`},
		{"a7:1", `{"numbers":{"a":5}}`, `message 6 of the producer "a" is missing`},
		{"a7:1", `{"numbers":{"a":6}}`, ""},
		{"a7:1", "", ""},
	} {
		r, err := Source{Topic: rowsOf(c.list), Idle: 10 * time.Millisecond}.intake(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.place == "new" {
			_, err = r.Place(0)
		} else if c.place != "" {
			err = r.Begin(c.place)
		}
		if err == nil {
			_, err = r.lines(t.Context())
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s from %q: %v, want %q", c.list, c.place, err, c.want)
		}
	}
	s := &script{}
	for n := range int64(maxHeld + 2) {
		s.messages = append(s.messages, Message{Producer: "a", Number: n + 2})
	}
	r, err := Source{Topic: s}.intake(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.Place(0); err == nil {
		_, err = r.lines(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "message 1 of") {
		t.Errorf("%d messages wait: %v", maxHeld+1, err)
	}
	for _, place := range []string{"", "{}", "7", `{"numbers":[]}`} {
		if err := r.Begin(place); err == nil {
			t.Errorf("%q is a place", place)
		}
	}
}

// TestRefusedRows hands a message that is no rows to Refused, and acknowledges it.
func TestRefusedRows(t *testing.T) {
	s := rowsOf("a1:1 a2:1 a3:1")
	s.messages[1].Body = []byte("no rows")
	s.messages[2].SetHeaders(func(name string) string { return map[string]string{headSum: "00000000"}[name] }) // damaged
	s.messages[1].Place = "the second"
	src := Source{Topic: s, Idle: 10 * time.Millisecond}
	r, err := src.intake(t.Context())
	if err == nil {
		_, err = r.lines(t.Context())
	}
	if err == nil || !strings.HasPrefix(err.Error(), "the second: it is no row") {
		t.Errorf("without Refused: %v", err)
	}
	var why []string
	src.Refused = func(_ context.Context, m Message, err error) error {
		why = append(why, m.ID()+" "+err.Error())
		return nil
	}
	if r, err = src.intake(t.Context()); err == nil {
		_, err = r.lines(t.Context())
	}
	if err != nil || len(why) != 2 || why[1] != "a/3 the message is damaged: its checksum is another" {
		t.Errorf("%v, refused %q", err, why)
	}
	if r.complete(1); fmt.Sprint(s.acked) != "[a/1 0 a/2 1 a/3 2]" {
		t.Errorf("acknowledged %v", s.acked)
	}
}

// TestSettings wants a clear error of wrong settings.
func TestSettings(t *testing.T) {
	ctx, topic := t.Context(), &script{}
	for _, c := range []struct {
		open func() error
		want string
	}{
		{func() error { _, err := Source{}.Open(ctx, memory.DefaultAllocator); return err }, "there is no Topic"},
		{func() error { _, err := Source{Topic: topic, Idle: -1}.Open(ctx, memory.DefaultAllocator); return err }, "Idle is -1ns, want at least 0"},
		{func() error {
			_, err := Source{Topic: topic, Idle: time.Millisecond}.Open(ctx, memory.DefaultAllocator)
			return err
		}, "script: no message with a record came within 1ms, and no Schema is set"},
		{func() error { _, err := Sink{Producer: "a"}.Open(&arrow.Schema{}); return err }, "there is no Topic"},
		{func() error { _, err := Sink{Topic: topic}.Open(&arrow.Schema{}); return err }, "Producer is empty, want a name of this stream of messages"},
		{func() error { _, err := Sink{Topic: topic, Producer: "a", After: -1}.Open(&arrow.Schema{}); return err }, "After is -1, want at least 0"},
	} {
		if err := c.open(); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestPressure reads a topic of many messages into a sink that stops: the reader takes few of them.
func TestPressure(t *testing.T) {
	rec := flowtest.Sample(memory.DefaultAllocator)[0]
	defer rec.Release()
	var body bytes.Buffer
	if err := encode(&body, rec); err != nil {
		t.Fatal(err)
	}
	topic := &script{}
	for n := range int64(200) {
		topic.messages = append(topic.messages, Message{Producer: "a", Number: n + 1, Body: body.Bytes()})
	}
	ctx, stop := context.WithCancel(t.Context())
	full := make(chan bool)
	run := flow.From(Source{Topic: topic}).To(stopping(func() {
		close(full)
		<-ctx.Done()
	})).Start(ctx)
	<-full
	time.Sleep(100 * time.Millisecond)
	if notes := run.Stats().Stages[0].Notes; notes["in hand"] > 16 || notes["received"] > 16 {
		t.Errorf("the sink has stopped at its first record, and the reader has the notes %v; want at most 16", notes)
	}
	stop()
	if err := run.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

// stopping is a sink whose first Write calls the function.
type stopping func()

func (s stopping) Open(*arrow.Schema) (flow.Writer, error) { return s, nil }
func (stopping) Close(error) error                         { return nil }
func (s stopping) Write(ctx context.Context, _ arrow.Record) error {
	s()
	return context.Cause(ctx)
}
