package event_test

import (
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		e    event.Event
		want string
	}{
		{event.Event{}, ""},
		{event.Event{Kind: event.SetNode, Target: -1, Cat: []int32{0, 1}, Attr: []float32{1}}, ""},
		{event.Event{Kind: event.SetClass, Class: -1}, ""},
		{event.Event{Pos: 7, Kind: 99}, "event 7: kind is 99"},
		{event.Event{Source: -1}, "source is node -1"},
		{event.Event{Kind: event.RemoveEdge, Target: -2}, "remove_edge: target is node -2"},
		{event.Event{Kind: event.SetClass, Class: -2}, "class is -2"},
		{event.Event{Cat: []int32{1}}, "1 discrete attributes, want 2"},
		{event.Event{Attr: []float32{1, 2}}, "2 continuous attributes, want 1"},
		{event.Event{Cat: []int32{0, -4}}, "discrete attribute 1 is -4"},
	} {
		err := c.e.Check(2, 1)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.e, err, c.want)
		}
	}
	if got := strings.Join(event.Kinds(), " "); got != "add_edge remove_edge remove_node set_node set_edge set_class" {
		t.Error(got)
	}
	if got := event.Kind(77).String(); got != "invalid kind 77" {
		t.Error(got)
	}
}
