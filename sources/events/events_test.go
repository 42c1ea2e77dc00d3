package events_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/events"
)

// read returns the events of a source, one text each.
func read(s events.Source) (got []string, st *events.Stream, err error) {
	st, err = s.Open(context.Background())
	if err != nil {
		return nil, nil, err
	}
	defer st.Close()
	last := int64(-1 << 62)
	for e, err := range st.All() {
		if err != nil {
			return got, st, err
		}
		if e.Time < last {
			return got, st, fmt.Errorf("time %d after %d", e.Time, last)
		}
		if e.Pos != int64(len(got)) {
			return got, st, fmt.Errorf("event %d has the position %d", len(got), e.Pos)
		}
		last = e.Time
		text := fmt.Sprintf("%d %v %s", e.Time, e.Kind, st.Name(e.Source))
		if e.OfEdge() {
			text += " " + st.Name(e.Target)
		}
		if e.Kind == event.SetClass {
			text += " " + st.Classes()[e.Class]
		}
		if len(e.Attr) > 0 {
			text += fmt.Sprint(" ", e.Attr)
		}
		got = append(got, text)
	}
	return got, st, nil
}

func text(s string) sources.Table { return sources.Text{Path: "x", Reader: strings.NewReader(s)} }

func TestFormats(t *testing.T) {
	edges := []string{"10 add_edge a b", "12 add_edge b c"}
	for name, c := range map[string]struct {
		source events.Source
		want   []string
	}{
		"blanks":   {events.Source{Table: text("a b 10\nb  c\t12\n")}, nil}, // the first line has no tab, and c\t12 are two values
		"tabs":     {events.Source{Table: text("# mail\n\na\tb\t10\r\nb\tc\t12\r\n")}, edges},
		"commas":   {events.Source{Table: text("From,To,Timestamp\na,b,10\nb,c,12.9")}, edges},
		"CSV":      {events.Source{Table: sources.CSV{Path: "x", Reader: strings.NewReader("t,i,j\n10,a,b\n12,\"b\",c\n")}}, edges},
		"numbers":  {events.Source{Table: text("10;x;a;b\n12;x;b;c"), Columns: events.Columns{Source: "3", Target: "4", Time: "1"}}, edges},
		"dates":    {events.Source{Table: text("a b 1970-01-01T00:00:10Z 5\nb c 1970-01-01T01:00:12+01:00 6")}, edges},
		"days":     {events.Source{Table: text("a\tb\t1970-01-01 00:00:10\nb\tc\t1970-01-01 00:00:12.5"), Columns: events.Columns{Scale: 1}}, edges},
		"scaled":   {events.Source{Table: text("a,b,1970-01-01\na,b,0.001\nb,c,1970-01-01T00:00:00.0125"), Columns: events.Columns{Scale: 1000}}, []string{"0 add_edge a b", "1 add_edge a b", "12 add_edge b c"}},
		"quoted":   {events.Source{Table: text("\"from\";\"to\";\"time\"\n\"a\";\"b\";\"10\"\nb;c;12")}, edges},
		"sorted":   {events.Source{Table: text("b c 12\na b 10"), Order: events.Sort}, edges},
		"repeated": {events.Source{Table: text("a b 10\na b 10\nb c 12")}, []string{edges[0], edges[0], edges[1]}},
		"JSON":     {events.Source{Table: sources.JSONLines{Path: "x", Reader: strings.NewReader("{\"src\":\"a\",\"dst\":\"b\",\"ts\":10}\n{\"src\":\"b\",\"dst\":\"c\",\"ts\":12}\n")}}, edges},
		"kinds": {events.Source{Table: text("source,target,time,kind,class,rating\na,b,1,,,4\na,b,2,set_edge,,-1.5\na,,3,set_class,red,\na,b,4,remove_edge,,\na,,5,remove_node,,0\na,,6,set_node,,2"),
			Columns: events.Columns{Kind: "kind", Class: "class", Attributes: []string{"rating"}}},
			[]string{"1 add_edge a b [4]", "2 set_edge a b [-1.5]", "3 set_class a red", "4 remove_edge a b", "5 remove_node a", "6 set_node a [2]"}},
		"zones": {events.Source{Table: text("a,b,1970-01-01T02:30:01+0230\na,b,1970-01-01 02:00:02+02\na,b,1969-12-31 23:00:03 -0100\na,b,1970-01-01 00:00:04 UTC\na,b,1970-01-01 00:00:05Z\na,b,1970-01-01T05:30:06.25+05:30\na,b,1970-01-01T00:01Z\na,b,1970-01-01 01:02+01:00\na,b,1970-01-01T02:02:03 +02:00")},
			[]string{"1 add_edge a b", "2 add_edge a b", "3 add_edge a b", "4 add_edge a b", "5 add_edge a b", "6 add_edge a b", "60 add_edge a b", "120 add_edge a b", "123 add_edge a b"}},
		"signs": {events.Source{Table: text("source,target,time,op\na,b,1,+\na,b,2,-\na,b,3,+1\na,b,4,-1\na,b,5,1\na,b,6,remove\na,b,7,add\na,b,8,delete\na,b,9,insert"), Columns: events.Columns{Kind: "op"}},
			[]string{"1 add_edge a b", "2 remove_edge a b", "3 add_edge a b", "4 remove_edge a b", "5 add_edge a b", "6 remove_edge a b", "7 add_edge a b", "8 remove_edge a b", "9 add_edge a b"}},
		"numbers of kinds": {events.Source{Table: sources.JSONLines{Path: "x", Reader: strings.NewReader("{\"src\":\"a\",\"dst\":\"b\",\"ts\":10,\"op\":1}\n{\"src\":\"a\",\"dst\":\"b\",\"ts\":12,\"op\":-1}\n")}, Columns: events.Columns{Kind: "op"}},
			[]string{"10 add_edge a b", "12 remove_edge a b"}},
	} {
		if c.want == nil {
			c.want = edges
		}
		if name == "blanks" {
			c.source.Table = text("a b 10\nb  c 12\n")
		}
		got, st, err := read(c.source)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
			continue
		}
		if s := st.Stats(); s.Events != int64(len(got)) || s.Cut != map[string]int64{"commas": 1, "days": 1, "scaled": 1, "zones": 1}[name] {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestErrors(t *testing.T) {
	columns := events.Columns{Kind: "kind", Attributes: []string{"x"}}
	for _, c := range []struct {
		text string
		set  events.Source
		want string
	}{
		{"", events.Source{}, "sources: x: it is empty"},
		{"a,b,10\nb,c,9", events.Source{}, "sources: x:2: row 2: time 9 is before 10"},
		{"a,b,10\n#\nb,c", events.Source{}, "sources: x:3: row 2: 2 values, want one for each of 3 columns"},
		{"a,b,noon", events.Source{}, `no column is called source`},
		{"a,b,1\na,b,2006-01-02T25:00:00Z", events.Source{}, `x:2: row 2: column "3": "2006-01-02T25:00:00Z", want a time`},
		{"a,b,1\na,b,2006-01-02 10:00:00+2", events.Source{}, `x:2: row 2: column "3": "2006-01-02 10:00:00+2", want a time`},
		{"a,b,1\na,b,2020-01-01T10:00:00+", events.Source{}, `x:2: row 2: column "3": "2020-01-01T10:00:00+", want a time`},
		{"a,b,1\na,b,2020-01-01T10:00-", events.Source{}, `x:2: row 2: column "3": "2020-01-01T10:00-", want a time`},
		{"a,b,1\na,b,2020-01-01 10:00 -", events.Source{}, `x:2: row 2: column "3": "2020-01-01 10:00 -", want a time`},
		{"a b 1\na b noon", events.Source{}, `x:2: row 2: column "3": "noon", want a time`},
		{"a,b,1\n,b,2", events.Source{}, `x:2: row 2: column "1": there is no id`},
		{"a,b,1\na,,2", events.Source{}, `x:2: row 2: add_edge without a target`},
		{"a,b,1", events.Source{Columns: events.Columns{Source: "9"}}, `there is no column "9"`},
		{"source,target,time,kind,x\na,b,1,dance,2", events.Source{Columns: columns}, `column "kind": "dance", want one of add_edge, remove_edge, remove_node, set_node, set_edge, set_class, +, -`},
		{"source,target,time,kind,x\na,b,1,,inf", events.Source{Columns: columns}, `column "x": "inf", want a finite number`},
		{"a b 1", events.Source{Order: 7}, "Order is 7"},
	} {
		c.set.Table = text(c.text)
		if _, _, err := read(c.set); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := (events.Source{}).Open(context.Background()); err == nil {
		t.Error("no table")
	}
	for _, bad := range []string{"source", "source=", "size=3", "time=1,time=2", "scale=0", "scale=x", "source_class=s"} {
		if _, err := events.ParseColumns(bad); err == nil {
			t.Errorf("%q was taken for columns", bad)
		}
	}
	c, err := events.ParseColumns("source=a,target=b, time=3,scale=1e3,attr=x,attr=y,kind=k,class=c")
	if want := (events.Columns{"a", "b", "3", 1000, "k", "c", []string{"x", "y"}, 0}); err != nil || fmt.Sprint(c) != fmt.Sprint(want) {
		t.Errorf("%+v, %v", c, err)
	}
}

// random makes events whose times are in disorder.
func random(n int) []event.Event {
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	list := make([]event.Event, n)
	for i := range list {
		list[i] = event.Event{Kind: event.Kind(rng.IntN(6)), Pos: int64(i), Time: int64(rng.IntN(n/2+1)) - 7, Source: rng.Int32(), Target: rng.Int32(), Class: -1,
			Cat: make([]int32, rng.IntN(3)), Attr: make([]float32, rng.IntN(3))}
		for j := range list[i].Attr {
			list[i].Attr[j] = rng.Float32()
		}
	}
	return list
}

func seq(list []event.Event) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Sorting gives what a stable sort of all gives, ends early, and refuses an event too many.
func TestSorted(t *testing.T) {
	race.Skip(t)
	for _, n := range []int{0, 1, 7, 64, 1000} {
		list := random(n)
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b event.Event) int { return int(a.Time - b.Time) })
		var got []event.Event
		for e, err := range events.Sorted(context.Background(), seq(list), n) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d events: another order", n)
		}
		for range events.Sorted(context.Background(), seq(list), n) {
			break
		}
		for e, err := range events.Sorted(context.Background(), seq(list), n-1) {
			if n > 0 && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("more than %d events", n-1)) || !strings.Contains(err.Error(), "sort the table")) {
				t.Errorf("%d events, one too many: %v, %v", n, e, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range events.Sorted(ctx, seq(random(5)), events.MaxSorted) {
		if err == nil {
			t.Error("the context had ended")
		}
	}
}

// Scaled times are exact where the time in the table is.
func TestScale(t *testing.T) {
	for _, test := range []struct {
		text  string
		scale float64
		want  int64
		cut   int64
	}{
		{"1.001", 1000, 1001, 0}, {"1700000000.123", 1000, 1700000000123, 0}, {"0.0005", 1000, 0, 1}, {"-0.0005", 1000, -1, 1},
		{"1700000000", 1e9, 1700000000000000000, 0}, {"1700000000123456789", 2, 3400000000246913578, 0},
		{"2023-11-14T22:13:20.123456789Z", 1e9, 1700000000123456789, 0}, {"2023-11-14T22:13:20.1239Z", 1000, 1700000000123, 1},
		{"1969-12-31T23:59:59.5Z", 1, -1, 1}, {"1969-12-31T23:59:59.5Z", 10, -5, 0}, {"1.1", 2.5, 2, 1},
	} {
		list, st, err := read(events.Source{Table: text("a b " + test.text + "\n"), Columns: events.Columns{Scale: test.scale}})
		if err != nil || len(list) != 1 || !strings.HasPrefix(list[0], fmt.Sprint(test.want, " ")) || st.Stats().Cut != test.cut {
			t.Errorf("%s times %v is %v, %v; want %d, cut %d", test.text, test.scale, list, err, test.want, test.cut)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("a b 1\nb c 2\n")
	f.Add("Time\tid1\tid2\tc1\tc2\n31220\t1558\t1567\t3B\t3B\n")
	f.Add("from,to,feature,time\n7188,1,10,1407470400\n")
	f.Add("\ufeff% x\n1;;2;\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, set := range []events.Source{{}, {Order: events.Sort}} {
			if len(s) > 1<<10 {
				s = s[:1<<10]
			}
			set.Table = text(s)
			if _, _, err := read(set); err != nil && strings.Contains(err.Error(), "\n") {
				t.Error(err)
			}
		}
	})
}
