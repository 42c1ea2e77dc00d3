package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// chunksPlacer is a reader of chunks whose source knows places.
type chunksPlacer struct {
	*chunksReader
	of    flow.Seeker
	size  int   // roots of a chunk, or 0 if that is unknown
	trail trail // Record counts those of the source in this run

	mu      sync.Mutex
	records []opened // of the source, from that of the last place on
	gone    int64    // records before them
	read    int64    // rows of the source
	first   chunkPlace
}

// opened is a record of the source whose chunks were begun with.
type opened struct {
	rows int64 // of the source before it, in this run
	next int64 // position of its first chunk
}

// chunkPlace is a place as a checkpoint has it.
type chunkPlace struct {
	Source string `json:"source"`         // where the source begins again
	Next   int64  `json:"next"`           // position of the first chunk there
	Rows   int64  `json:"rows"`           // that are passed over from there on
	Size   int    `json:"size,omitempty"` // roots of a chunk
}

var _ flow.Seeker = (*chunksPlacer)(nil)

// note notes a record of the source; those before it only where places are asked for.
func (r *chunksPlacer) note(rec arrow.Record) {
	asked := r.trail.remembers()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !asked {
		r.gone += int64(len(r.records))
		r.records = r.records[:0]
	}
	r.records = append(r.records, opened{r.read, r.next})
	r.read += rec.NumRows()
}

func (r *chunksPlacer) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := r.chunksReader.Next(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	last := len(r.records) - 1
	at := spot{r.gone + int64(last), r.next - rec.NumRows() - r.records[last].next}
	r.mu.Unlock()
	r.trail.hand(at, rec.NumRows())
	return rec, nil
}

// Begin begins at a place.
func (r *chunksPlacer) Begin(place string) error {
	var at chunkPlace
	if err := readPlace(place, &at); err != nil || at.Next < 0 || at.Rows < 0 {
		return fmt.Errorf("sources: Chunks: the place cannot be read")
	}
	if at.Size > 0 && at.Size != r.size {
		return fmt.Errorf("sources: Chunks: the place is of chunks of %d roots, and these have %d: set the size so, or begin anew", at.Size, r.size)
	}
	if err := r.of.Begin(at.Source); err != nil {
		return err
	}
	r.first, r.next, r.skip = at, at.Next, at.Rows
	r.trail.begin(spot{-1, at.Rows})
	return nil
}

// Place returns the place behind so many rows of this run.
func (r *chunksPlacer) Place(rows int64) (string, error) {
	at := r.trail.find(rows)
	place := chunkPlace{Next: r.first.Next, Rows: at.Row, Size: r.size}
	of := int64(0)
	r.mu.Lock()
	if at.Record >= 0 && len(r.records) > 0 {
		for r.gone < at.Record {
			r.records, r.gone = r.records[1:], r.gone+1
		}
		of, place.Next = r.records[0].rows, r.records[0].next
	}
	r.mu.Unlock()
	var err error
	if place.Source, err = r.of.Place(of); err != nil {
		return "", err
	}
	b, err := json.Marshal(place)
	return string(b), err
}

// Keep notifies the source.
func (r *chunksPlacer) Keep(place string) {
	var at chunkPlace
	if readPlace(place, &at) == nil {
		r.of.Keep(at.Source)
	}
}
