package events_test

import (
	"strings"
	"testing"

	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/events"
)

// An id is one node in all spellings of a number, # begins an id behind the header, and users are
// no items.
func TestIDsOfEvents(t *testing.T) {
	for _, c := range []struct {
		text  string
		nodes string
		notes int
	}{
		{"source,target,time\n1,2.0,1\n2,1.0,2\n1000.0,1000,3\n", "1 2 1000", 0},
		{"source,target,time\n12e3,4917e12,1\n12000,0e1,2\n", "12e3 4917e12 12000 0e1", 0}, // hexadecimal
		{`{"source":1,"target":2.0,"time":1}` + "\n" + `{"source":1.0,"target":2,"time":2}` + "\n", "1 2", 0},
		{"source,target,time\n1.10,1.1,1\n007,7,2\n", "1.10 1.1 007 7", 0},
		{"source,target,time\n#go,#rust,1\n%d,#go,2\n# alive\n", "#go #rust %d", 1},
		{"user_id,item_id,timestamp\n0,0,1\n1,0,2\n0.0,1,3\n", "user_id:0 item_id:0 user_id:1 item_id:1", 1},
		{"user_id,page,timestamp\n0,0,1\n", "user_id:0 page:0", 1},
		{"source_id,target_id,time\n0,0,1\n", "", 0},
		{"source,target,time\nNA,b,1\nb,null,2\nc,NA,3\n", "NA b null c", 2},
		{"% bip\n1 1 5\n2 1 6\n", "left:1 right:1 left:2", 1},
	} {
		src := events.Source{Table: sources.Text{Path: "x", Reader: strings.NewReader(c.text)}}
		s, err := src.Open(t.Context())
		if c.nodes == "" {
			if err == nil {
				t.Errorf("%q: it was read", c.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		for _, err = range s.All() {
			if err != nil {
				t.Errorf("%q: %v", c.text, err)
			}
		}
		var names []string
		for v := range int32(s.Nodes()) {
			names = append(names, s.Name(v))
		}
		if got := strings.Join(names, " "); got != c.nodes || len(s.Notes()) != c.notes {
			t.Errorf("%q: nodes %s, notes %q; want %s", c.text, got, s.Notes(), c.nodes)
		}
		s.Close()
	}
	// Classes are the same in all spellings of a number too.
	src := events.Source{Table: sources.CSV{Path: "x.csv", Reader: strings.NewReader("source,time,kind,c\n1,1,set_class,0\n2,2,set_class,0.0\n3,3,set_class,1.0\n4,4,set_class,1\n")}, Columns: events.Columns{Kind: "kind", Class: "c"}}
	s, err := src.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range s.All() {
	}
	if got := strings.Join(s.Classes(), " "); got != "0 1" {
		t.Errorf("classes %s", got)
	}
	columns, err := events.ParseColumns("spaces=one")
	if err != nil || columns.Spaces != sources.OneSpace {
		t.Errorf("%+v, %v", columns, err)
	}
	for _, bad := range []string{"spaces=three", "spaces="} {
		if _, err := events.ParseColumns(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
