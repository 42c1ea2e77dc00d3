package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/now"
	"github.com/sanflow/sanflow/sources"
)

// events is where the events of a server come from.
type events struct {
	feed  string        // post, -, a file or a URL; "" = none
	topic message.Topic // of the URL, or nil
	store now.Options
	live  *now.Live // or nil

	last, within int // a window of edges

	learn    bool
	learning now.Learning
}

func (s *server) eventFlags() {
	f := s.FlagSet
	f.StringVar(&s.feed, "events", "", "where events come from that change -rows or -edges, see above: post, by POST /events; -, the lines of standard input; a file of lines that grows; or the URL of a topic, such as nats:// and kafka:// of examples/connect")
	f.StringVar(&s.store.Dir, "store", "", "directory of the events of -events; a start with the same tables goes on with it")
	f.BoolVar(&s.store.Sync, "sync", false, "let accepted events survive a loss of power")
	cli.Int(f, &s.store.Queue, "queue", 1<<16, 1, 1<<24, "maximum number of events that wait; others are answered with 429")
	cli.Int(f, &s.last, "last", 0, 0, 1<<31-1, "of edges, how many of the last rows and add_edge events stay; 0 = all; a store keeps the window that it began with")
	cli.Int(f, &s.within, "within", 0, 0, math.MaxInt, "of edges, how old they may be before the latest event, in the unit of -time, whose values are then whole numbers; 0 = all stay")
	f.BoolVar(&s.learn, "learn", false, "let the model learn from each class that events tell, once it has been tested by it: for models of words and networks, not for trees")
	cli.Float(f, &s.learning.Rate, "learn-rate", 0, 0, 1, "rate of -learn; 0 = that of the training")
}

// checkEvents checks the flags, and opens the topic of a URL.
func (s *server) checkEvents(ctx context.Context) (err error) {
	switch {
	case (s.feed == "") != (s.store.Dir == ""):
		return cli.Usage(errors.New("-events and -store go together"))
	case s.last+s.within > 0 && s.feed == "", s.last > 0 && s.within > 0:
		return cli.Usage(errors.New("-last and -within want -events, and one of them is set"))
	case s.learn && s.feed == "", s.learning.Rate > 0 && !s.learn:
		return cli.Usage(errors.New("-learn wants -events, and -learn-rate wants -learn"))
	case s.feed == "":
		return nil
	case s.task != "rows" && (s.task != "nodes" || s.edges == ""):
		return cli.Usage(fmt.Errorf("-events is for models of rows (-rows) and of nodes of tables (-edges), and the model is for %s", s.task))
	case s.task == "rows" && s.last+s.within > 0:
		return cli.Usage(errors.New("-last and -within are for edges, and rows stay"))
	case s.given["labels"] == "train":
		return cli.Usage(errors.New("-events is for -labels all: later rows know the classes that come"))
	}
	if scheme, _, ok := strings.Cut(s.feed, "://"); ok {
		if s.topic, ok, err = sources.OpenTopic(ctx, s.feed); !ok {
			err = fmt.Errorf("no linked package reads messages at URLs %s://: examples/connect is this command with nats:// and kafka://", scheme)
		}
		if err != nil {
			return cli.Usage(fmt.Errorf("-events: %w", err))
		}
	}
	return nil
}

// takeRows gives the rows of a model to the events, opens the store at the first call, and logs the position from which the model learns.
func (s *server) takeRows(ctx context.Context, m *loaded) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if s.learn {
		s.store.Learn = &s.learning
	}
	if s.live == nil {
		s.store.Body = int64(s.bodyLimit)
		s.store.Note = func(line string) { log.Warn(line) }
		if s.live, err = now.Open(ctx, m.rows, s.store); err == nil {
			m.at = s.live.Position()
		}
	} else {
		m.at, err = s.live.Use(ctx, m.rows)
	}
	if errors.Is(err, sinks.ErrSteps) {
		return cli.Usage(fmt.Errorf("-learn: a model of the system %s cannot learn from one row at a time; train -systems words makes one that can", m.system))
	}
	if err == nil && s.learn {
		l := s.live.Stats().Learned
		log.Info("learning", "position", m.at, "checkpoint", l.Checkpoint, "loaded at", l.Loaded, "lessons", l.Lessons)
	}
	return err
}

// changing opens the nodes of tables, which events change.
func (s *server) changing(ctx context.Context, d *data, p *sinks.Predictor) (choose.Changing, error) {
	d.keeps = true
	set, err := d.set(ctx)
	if err != nil {
		return nil, err
	}
	c := d.ofNodes()
	c.Last, c.Within = s.last, int64(s.within)
	o, err := choose.OpenNodesOf(p, set, c)
	if err != nil { // no interface of a nil pointer
		return nil, err
	}
	s.stats.unknown.Add(int64(o.Unseen()))
	if s.feed != "" && !s.learn {
		s.note("without -learn, classes of events change no answer: the model reads no classes of events")
	}
	return o, nil
}

// again is the time after which a stream that has failed is opened again.
const again = time.Second

// readEvents accepts the events of a stream until ctx ends. A file or a topic that fails is opened again, where the store has read it; each new error is a line.
func (s *server) readEvents(ctx context.Context, log *slog.Logger) {
	told := ""
	for {
		var err error
		switch {
		case s.feed == "" || s.feed == "post":
			return
		case s.feed == "-":
			err = s.live.Read(ctx, os.Stdin)
		case s.topic != nil:
			err = s.live.Consume(ctx, s.topic)
		default:
			err = s.live.Follow(ctx, s.feed)
		}
		switch {
		case ctx.Err() != nil:
			return
		case s.feed == "-" && err != nil:
			log.Error("no more events are read", "error", err)
			return
		case err == nil:
			log.Info("the events have ended")
			return
		case err.Error() != told:
			told = err.Error()
			log.Error("no events are read; the stream is opened again every second", "error", err)
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return
		}
	}
}

// post answers POST /events.
func (s *server) post(w *reply, r *http.Request) error {
	held := &holding{memory: s.memory}
	defer held.release()
	text, err := s.body(w, r, held)
	if err == nil {
		err = held.wait(r.Context(), s.cost(text, 0, false))
	}
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	s.live.ServeHTTP(w, r)
	return nil
}

// waitFor waits for the position that a request names, if rows change.
func (s *server) waitFor(ctx context.Context, w http.ResponseWriter, r *http.Request) (after int64, err error) {
	text := r.Header.Get(now.After)
	if s.live == nil || text == "" {
		return 0, nil
	}
	if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
		return 0, fail(http.StatusBadRequest, "the header %s is %q, want a position", now.After, clip(text))
	}
	select {
	case s.waits <- struct{}{}:
		defer func() { <-s.waits }()
	default:
		return 0, errBusy
	}
	if err = s.live.Wait(ctx, after); err != nil {
		w.Header().Set(now.At, strconv.FormatInt(s.live.Position(), 10))
	}
	return after, err
}

// forget erases what a store knows of an id.
func forget(_ context.Context, args []string) error {
	f := cli.Flags("sanflow forget", about("forget")+`

Rows of the id are erased, rows with the id in a key column, the classes that events have set for these, and refused lines that have it. The server of the
store must have ended. Tables are not changed: erase the id there, and begin a new store. What a model has learned stays: train it again.`)
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
		if n == (now.Forgotten{}) {
			fmt.Printf("the store has no event with the id %s\n", cli.Printable(*id))
		}
		fmt.Println("left out: rows of the tables, which are not in the store, and what a model has learned: erase the id in the tables, and train again")
	}
	return err
}
