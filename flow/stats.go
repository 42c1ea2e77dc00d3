package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// StageStats holds the counts of one stage up to now.
type StageStats struct {
	Stage                 string
	RecordsIn, RecordsOut int64
	RowsIn, RowsOut       int64
	BytesOut              int64         // of the buffers behind the records; shared buffers count each time. A sink has nothing out
	Refused               int64         // rows
	Busy                  time.Duration // in the stage's own code, summed over workers; Open is not counted, where some sources read a file
	Waiting               time.Duration // for records to come in
	Blocked               time.Duration // for records to be taken
	// Notes has the counts of Out.Note and Noter by name, summed over workers; nil if there are none. It
	// is a copy.
	Notes map[string]int64
	// Lag is the number of unread messages of a source that is a Lagger.
	Lag int64
	// Letters are the latest refused rows, at most 8, the latest last. Their Row is nil.
	Letters []Letter
}

// Stats is a snapshot of a run.
type Stats struct {
	Stages []StageStats // source first, sink last
	// Done is the low watermark: every source row with a position up to it has left the pipeline. It is
	// -1 at the start. If positions fall, or one repeats in a later record, the pipeline cannot know
	// which rows follow: Done is then below that position, and rises only at the end.
	Done int64
	// Read is the highest position of the source so far, or -1.
	Read int64
}

// String is a table, a line per stage; notes stand behind it.
func (s Stats) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "stage\trows in\trows out\trefused\tMB out\tbusy\twaiting\tblocked\t")
	for _, t := range s.Stages {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.1f\t%v\t%v\t%v\t%s\n", t.Stage, t.RowsIn, t.RowsOut, t.Refused,
			float64(t.BytesOut)/1e6, t.Busy.Round(time.Millisecond), t.Waiting.Round(time.Millisecond), t.Blocked.Round(time.Millisecond), t.notes())
	}
	w.Flush()
	return b.String()
}

// notes returns "  name value" for each note, by name.
func (t StageStats) notes() string {
	var b strings.Builder
	for _, event := range slices.Sorted(maps.Keys(t.Notes)) {
		fmt.Fprintf(&b, "  %s %d", event, t.Notes[event])
	}
	if t.Lag > 0 {
		fmt.Fprintf(&b, "  lag %d", t.Lag)
	}
	return b.String()
}

// counter is the live StageStats of one stage.
type counter struct {
	stage                            string
	recsIn, recsOut, rowsIn, rowsOut atomic.Int64
	bytesOut, refused                atomic.Int64
	busy, wait, blocked              clock

	mu      sync.Mutex
	notes   map[string]int64
	letters []Letter // the latest dead letters, without their rows
	own     any      // the Reader or Writer, which may be a Noter, a Lagger and a Reporter
}

// of sets the Reader or Writer of the stage.
func (c *counter) of(stage any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = stage
}

func (c *counter) note(event string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notes == nil {
		c.notes = map[string]int64{}
	}
	c.notes[event] += n
}

// mostLetters bounds StageStats.Letters.
const mostLetters = 8

func (c *counter) refuse(l Letter) {
	c.refused.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.letters) == mostLetters {
		c.letters = c.letters[:copy(c.letters, c.letters[1:])]
	}
	c.letters = append(c.letters, l)
}

func (c *counter) in(rec arrow.Record) {
	c.recsIn.Add(1)
	c.rowsIn.Add(rec.NumRows())
}

func (c *counter) out(rec arrow.Record) {
	c.recsOut.Add(1)
	c.rowsOut.Add(rec.NumRows())
	n := int64(0)
	for _, col := range rec.Columns() {
		n += dataBytes(col.Data())
	}
	c.bytesOut.Add(n)
}

// dataBytes returns the size of the buffers of an array. SizeInBytes of Arrow fails on arrays without
// a validity buffer.
func dataBytes(d arrow.ArrayData) (n int64) {
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, child := range d.Children() {
		n += dataBytes(child)
	}
	return n
}

// clock adds up time, in nanoseconds.
type clock struct{ atomic.Int64 }

// since adds the time that has passed: defer c.since(monotonic()).
func (c *clock) since(start time.Duration) { c.Add(int64(monotonic() - start)) }

var began = time.Now()

// monotonic returns the time since the start of the program. It costs half of time.Now, which matters for
// small records.
func monotonic() time.Duration { return time.Since(began) }

func (c *counter) snapshot() StageStats {
	c.mu.Lock()
	notes, letters, own := maps.Clone(c.notes), slices.Clone(c.letters), c.own
	c.mu.Unlock()
	if n, ok := own.(Noter); ok {
		if notes == nil {
			notes = map[string]int64{}
		}
		for event, count := range n.Notes() {
			notes[event] += count
		}
	}
	lag := int64(0)
	if l, ok := own.(Lagger); ok {
		lag = l.Lag()
	}
	return StageStats{
		Stage:     c.stage,
		RecordsIn: c.recsIn.Load(), RecordsOut: c.recsOut.Load(),
		RowsIn: c.rowsIn.Load(), RowsOut: c.rowsOut.Load(),
		BytesOut: c.bytesOut.Load(), Refused: c.refused.Load(),
		Busy:    time.Duration(c.busy.Load()),
		Waiting: time.Duration(c.wait.Load()),
		Blocked: time.Duration(c.blocked.Load()),
		Notes:   notes,
		Lag:     lag,
		Letters: letters,
	}
}
