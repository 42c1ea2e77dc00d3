package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/live"
	"github.com/sanflow/sanflow/sinks/now"
)

// events is where the events of a server come from.
type events struct {
	feed  string // post, - or a file; "" = none
	store now.Options
	live  *now.Live // or nil
}

func (s *server) eventFlags() {
	f := s.FlagSet
	f.StringVar(&s.feed, "events", "", "of -rows: where events come from that add rows and set classes: post, by POST /events; -, the lines of standard input; or a file of lines that grows")
	f.StringVar(&s.store.Dir, "store", "", "directory of the events of -events; a start with the same tables goes on with it")
	f.BoolVar(&s.store.Sync, "sync", false, "let accepted events survive a loss of power")
	cli.Int(f, &s.store.Queue, "queue", 1<<16, 1, 1<<24, "maximum number of events that wait; others are answered with 429")
}

// checkEvents checks the flags.
func (s *server) checkEvents() error {
	switch {
	case (s.feed == "") != (s.store.Dir == ""):
		return cli.Usage(errors.New("-events and -store go together"))
	case s.feed == "":
		return nil
	case s.task != "rows":
		return cli.Usage(fmt.Errorf("-events is for models of rows (-task rows), and the model is for %s", s.task))
	case s.given["labels"] == "train":
		return cli.Usage(errors.New("-events is for -labels all: later rows know the classes that come"))
	}
	return nil
}

// takeRows makes rows those that events change.
func (s *server) takeRows(ctx context.Context, rows choose.Changing) (err error) {
	if s.live == nil {
		s.live, err = now.Open(ctx, rows, s.store)
		return err
	}
	_, err = s.live.Use(ctx, rows)
	return err
}

// readEvents accepts the events of a stream until ctx ends.
func (s *server) readEvents(ctx context.Context, log *slog.Logger) {
	var err error
	switch s.feed {
	case "", "post":
	case "-":
		err = s.live.Read(ctx, os.Stdin)
	default:
		err = s.live.Follow(ctx, s.feed)
	}
	if err != nil && ctx.Err() == nil {
		log.Error("no more events are read", "error", err)
	}
}

// post answers POST /events.
func (s *server) post(w http.ResponseWriter, r *http.Request) error {
	held := &holding{memory: s.memory}
	defer held.release()
	text, err := s.body(w, r, held)
	if err != nil {
		return err
	}
	position, err := s.live.Post(text)
	if err != nil {
		return failure{now.StatusOf(err), err}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(now.At, strconv.FormatInt(position, 10))
	return json.NewEncoder(w).Encode(map[string]int64{"position": position})
}

// waitFor waits for the position that a request names, if rows change.
func (s *server) waitFor(ctx context.Context, r *http.Request) (after int64, err error) {
	text := r.Header.Get(now.After)
	if s.live == nil || text == "" {
		return 0, nil
	}
	if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
		return 0, fail(http.StatusBadRequest, "the header %s is %q, want a position", now.After, clip(text))
	}
	return after, s.live.Wait(ctx, after)
}

// eventText writes the metrics of events.
func (e *events) text(t *live.Text) {
	if e.live == nil {
		return
	}
	s := e.live.Stats()
	t.Metric("sanflow_events_total", "counter", "Accepted events by kind.")
	t.Sample("", s.Rows, "kind", choose.AddRow)
	t.Sample("", s.Classes, "kind", choose.SetClass)
	for _, m := range []struct {
		name, kind, help string
		x                any
	}{
		{"events_refused_total", "counter", "Events and bodies that were not accepted.", s.Refused},
		{"events_dead_letters_total", "counter", "Lines that are in the file of refused ones.", s.DeadLetters},
		{"event_batches_total", "counter", "Transactions of the store.", s.Batches},
		{"event_visible_seconds_total", "counter", "Time of events from their coming until answers knew them.", s.Lag.Seconds()},
		{"events_waiting", "gauge", "Events that wait.", s.Waiting},
		{"event_position", "gauge", "Position of the last event that answers know.", s.Position},
	} {
		t.Metric("sanflow_"+m.name, m.kind, m.help)
		t.Sample("", m.x)
	}
}

// forget erases what a store knows of an id.
func forget(_ context.Context, args []string) error {
	f := cli.Flags("sanflow forget", about("forget")+`

Rows of the id are erased, rows with the id in a key column, the classes that events have set for these, and refused lines that have it. The server of the
store must have ended. Tables are not changed: erase the id there, and begin a new store.`)
	dir := f.String("store", "", "directory of serve -store")
	id := f.String("id", "", "id of a row, or of a key, as ID or SPACE:ID")
	if err := cli.Parse(f, args); err != nil {
		return err
	}
	if *dir == "" || *id == "" {
		return cli.Usage(errors.New("want -store and -id"))
	}
	n, err := now.Forget(*dir, *id)
	if err == nil {
		fmt.Printf("erased: %d rows, %d classes, %d refused lines\n", n.Rows, n.Classes, n.Refused)
	}
	return err
}
