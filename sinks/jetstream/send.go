package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/internal/jet"
)

// send sends a record, in parts where it is too large.
func (w *writer) send(ctx context.Context, rec arrow.Record, pos []int64) error {
	spans, err := jet.SpansOf(pos)
	if err != nil {
		return err
	}
	body, err := w.encoder.Encode(rec)
	if err != nil {
		return err
	}
	if len(body) > w.most {
		if cut := half(pos); cut > 0 {
			for _, part := range [][2]int{{0, cut}, {cut, len(pos)}} {
				some := rec.NewSlice(int64(part[0]), int64(part[1]))
				err := w.send(ctx, some, pos[part[0]:part[1]])
				some.Release()
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := w.collect(ctx, false, w.Pending-1); err != nil {
		return err
	}
	m := jet.Record(w.Stream, spans, len(pos), body)
	if w.twice {
		if jet.SumOf(m.Header) == w.sum { // the broker has given it again, and it is on its way
			return nil
		}
		return fmt.Errorf("position %d has rows in two records, but a message is known by its positions: give each row one of its own (sources.Chunks does)", pos[0])
	}
	w.sum = jet.SumOf(m.Header)
	if w.Queue && w.counted.add(spans) {
		n, err := jet.Read(w.Stream, m.Subject, m.Header, 0)
		if err != nil {
			return err
		}
		w.end.Count(&n)
	}
	if w.marked != nil {
		w.refused.Add(1)
		return nil
	}
	if len(body) > w.most {
		if err := w.client.PutBody(ctx, w.Stream, m); err != nil {
			return err
		}
		w.objects.Add(1)
	}
	o := &outgoing{msg: m, record: w.written, since: time.Now()}
	w.pending = append(w.pending, o)
	w.messages.Add(1)
	w.bytes.Add(int64(len(body)))
	return w.publish(ctx, o)
}

// half returns a row near the middle that has another position than the one
// before it, or 0.
func half(pos []int64) int {
	for far := 0; far < len(pos); far++ {
		for _, i := range []int{len(pos)/2 - far, len(pos)/2 + far} {
			if i > 0 && i < len(pos) && pos[i] != pos[i-1] {
				return i
			}
		}
	}
	return 0
}
