package message_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/events"
)

// TestEvents makes events of rows of JSON and of CSV. A repeated message makes none, and a message
// is acknowledged when its last event was processed.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		split message.Split
		topic *message.Script
		isCSV bool
	}{
		{message.JSON, message.Bodies(`1:{"source":"ada","target":"bob","time":1}`, "2:"+`{"source":"bob","target":"cy","time":2}`+"\n"+`{"source":"ada","target":"cy","time":3}`,
			`1:{"source":"ada","target":"bob","time":1}`, `3:{"source":"cy","target":"ada","time":4}`), false},
		{message.CSV(3), message.Bodies("1:ada,bob,1", "2:bob,cy,2\nada,cy,3\n", "1:ada,bob,1", "3:cy,ada,4"), true},
	} {
		rows, err := message.Source{Topic: c.topic, Idle: 20 * time.Millisecond}.Rows(t.Context(), c.split)
		if err != nil {
			t.Fatal(err)
		}
		var table sources.Table = sources.JSONLines{Reader: rows}
		if c.isCSV {
			table = sources.CSV{Reader: rows, Header: []string{"source", "target", "time"}}
		}
		s, err := events.Source{Table: table}.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		acked := []int{0, 1, 1, 3, 4} // deliveries after so many events: message 2 has two, and 1 comes again after it
		for e, err := range s.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s-%s@%d", s.Name(e.Source), s.Name(e.Target), e.Time))
			if rows.Complete(e.Pos + 1); len(c.topic.Acked()) != acked[e.Pos+1] {
				t.Errorf("after event %d: acknowledged %v", e.Pos, c.topic.Acked())
			}
		}
		if fmt.Sprint(got) != "[ada-bob@1 bob-cy@2 ada-cy@3 cy-ada@4]" {
			t.Errorf("events %v", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTables makes one graph of the rows that came until the stream was idle.
func TestTables(t *testing.T) {
	topic := message.Bodies("1:ada,bob", "2:bob,cy\nada,cy\n", "1:ada,bob")
	rows, err := message.Source{Topic: topic, Idle: 20 * time.Millisecond}.Rows(t.Context(), message.CSV(2))
	if err != nil {
		t.Fatal(err)
	}
	var got collect.Sink
	src := sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Reader: rows, Header: []string{"source", "target"}}}}
	if err := flow.From(src).To(&got).With(flow.Options{Allocator: flowtest.Mem(t)}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if text := strings.Join(flowtest.Rows(got.Records()...), "\n"); !strings.Contains(text, "offsets=[0,2,4,6]") {
		t.Errorf("the graph is %s, want a triangle", text)
	}
	rows.Complete(3)
	if err := rows.Close(); err != nil || len(topic.Acked()) != 3 {
		t.Errorf("%v, acknowledged %v", err, topic.Acked())
	}
}
