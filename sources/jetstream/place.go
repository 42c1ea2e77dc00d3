package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sanflow/sanflow/internal/jet"
)

// place is a place of a stream that is read in order, as a checkpoint has it.
type place struct {
	Stream  string `json:"stream"`
	Created int64  `json:"created"` // of the stream, in ns
	Rows    int64  `json:"rows"`    // behind Base; over all epochs, if there are several
	jet.Base
}

// places is what a reader knows of the places behind which it may have to begin again.
type places struct {
	created int64

	mu     sync.Mutex
	asked  bool
	rows   int64 // that Next has returned
	pieces []handed
	first  place // where this run has begun
	kept   place
}

// handed is a message that Next has returned.
type handed struct {
	from int64 // rows before it
	skip int
	base jet.Base
}

// base is what need not be seen again before the next message, if the stream is read
// once.
func (o *orderedReader) base() (b jet.Base) {
	if o.Epochs == 1 {
		b = o.cursor.Base()
	}
	return b
}

func (p *places) hand(of *piece, rows int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked && of.base.Seq > 0 {
		p.pieces = append(p.pieces, handed{p.rows, of.skip, of.base})
	}
	p.rows += rows
}

// Begin begins at a place.
func (o *orderedReader) Begin(text string) error {
	var at place
	if err := json.Unmarshal([]byte(text), &at); err != nil || at.Rows < 0 || at.Next < 0 {
		return jet.Of(o.Stream, errors.New("the place cannot be read"))
	}
	if at.Stream != o.Stream {
		return fmt.Errorf("the place is of stream %s, and this is %s", at.Stream, o.Stream)
	}
	if (at.Seq > 0) != (o.Epochs == 1) {
		return jet.Of(o.Stream, fmt.Errorf("the place is of a reading with one epoch, or several, and this is with %d", o.Epochs))
	}
	if at.Created != o.places.created {
		if o.Purge {
			return jet.Of(o.Stream, errors.New("it was created again since, without the rows learned before"))
		}
		at.Seq = min(at.Seq, 1) // made again: what is where in it is another matter, the positions are the same
	}
	o.Skip = at.Rows
	if at.Seq > 0 {
		o.from(at.Base)
	}
	o.places.mu.Lock()
	defer o.places.mu.Unlock()
	o.places.asked, o.places.first, o.places.kept = true, at, at
	return nil
}

// Place returns the place behind so many rows of this run.
func (o *orderedReader) Place(rows int64) (string, error) {
	p := &o.places
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
	at := place{Stream: o.Stream, Created: p.created, Rows: p.first.Rows + rows, Base: p.first.Base}
	if o.Epochs == 1 {
		for len(p.pieces) > 1 && p.pieces[1].from <= rows {
			p.pieces[0] = handed{}
			p.pieces = p.pieces[1:]
		}
		at.Seq = max(at.Seq, 1)
		if len(p.pieces) > 0 {
			at.Base, at.Rows = p.pieces[0].base, rows-p.pieces[0].from+int64(p.pieces[0].skip)
		}
	}
	b, err := json.Marshal(at)
	return string(b), err
}

// Keep permits the purge of messages before a place.
func (o *orderedReader) Keep(text string) {
	var at place
	if json.Unmarshal([]byte(text), &at) != nil {
		return
	}
	o.places.mu.Lock()
	o.places.kept = at
	o.places.mu.Unlock()
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// mayPurge checks that a sink keeps places, and that no message is missing behind the place
// that this run begins at.
func (o *orderedReader) mayPurge(ctx context.Context) error {
	o.places.mu.Lock()
	asked, next := o.places.asked, o.places.first.Next
	o.places.mu.Unlock()
	if !asked {
		return errors.New("Purge is set, but no sink keeps places: want a Train with a Checkpoint, and before it only stages that can begin in the middle")
	}
	if err := o.side.Clear(ctx); err != nil {
		return err
	}
	told, err := o.side.Progress(ctx)
	if err == nil && told.Next > next {
		err = fmt.Errorf("messages up to position %d were purged, and the checkpoint, if there is one, is at %d", told.Next, next)
	}
	return err
}

// purge deletes what is before the place that was kept last, and looks in the side
// stream for what finds no room in the full one.
func (o *orderedReader) purge(ctx context.Context) {
	told, ended, before := jet.Progress{Want: -1}, time.Duration(0), time.Now()
	for o.await(ctx, 50*time.Millisecond) {
		now := o.progress()
		err := o.tell(ctx, &told, now)
		if err == nil && now.Want >= 0 {
			err = o.side.Find(ctx, now.Want, o.index)
		}
		if err == nil && now.Want >= 0 {
			ended, err = o.ended(ctx, ended+time.Since(before))
		}
		before = time.Now()
		if err != nil && !jet.Passing(err) && ctx.Err() == nil {
			o.index.Fail(err)
			return
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = o.tell(last, &told, o.progress()) // or the next reader does
}

// await waits for a place that is kept, but not longer than that, and reports whether ctx has not
// ended meanwhile.
func (o *orderedReader) await(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-o.news:
	case <-t.C:
	case <-ctx.Done():
		return false
	}
	return true
}

func (o *orderedReader) progress() jet.Progress {
	o.places.mu.Lock()
	defer o.places.mu.Unlock()
	return jet.Progress{Base: o.places.kept.Base, Want: o.cursor.Waiting()}
}

// tell tells the workers how far this reader is, and purges.
func (o *orderedReader) tell(ctx context.Context, told *jet.Progress, now jet.Progress) error {
	if now.Next == told.Next && now.Want == told.Want && now.Seq == told.Seq {
		return nil
	}
	if err := o.side.Tell(ctx, now); err != nil {
		return err
	}
	if now.Seq > max(1, told.Seq) {
		if err := o.client.Purge(ctx, o.stream, now.Seq); err != nil {
			return err
		}
		o.purged.Store(int64(now.Seq) - 1)
	}
	if now.Next > told.Next {
		if err := o.side.Purge(ctx, now.Next); err != nil {
			return err
		}
	}
	*told = now
	return nil
}

// ended takes the end that found no room, when all that it counts is there, or has not
// come for a while.
func (o *orderedReader) ended(ctx context.Context, since time.Duration) (time.Duration, error) {
	end, err := o.side.End(ctx)
	if err != nil || end == nil {
		return 0, err
	}
	if err := o.side.Add(ctx, o.index); err != nil {
		return 0, err
	}
	if total, _, _ := o.index.Total(); total == *end.End || since > 10*time.Second {
		o.index.Add(end)
	}
	return since, nil
}
