package live

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/sinks"
)

const (
	mostStages  = 32
	mostNotes   = 8
	mostClasses = 20
	mostPoints  = 256
	mostAlarms  = 20
	mostLetters = 120 // letters of a name
	mostError   = 300
)

// Number is a float64 whose JSON is null if it is not finite.
type Number float64

func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// frame is the state that the page receives as JSON.
type (
	frame struct {
		Name    string     `json:"name"`
		Seconds Number     `json:"seconds"` // seconds since the page was made
		Over    bool       `json:"over"`
		Failure string     `json:"failure"`
		Ended   int        `json:"ended"`  // number of ended runs, failed ones included
		Failed  int        `json:"failed"` // number of failed runs
		Hidden  int        `json:"hidden"` // runs at work that are not shown
		Runs    []runFrame `json:"runs"`
	}
	runFrame struct {
		Number  int              `json:"number"`
		Name    string           `json:"name"`
		Seconds Number           `json:"seconds"`
		Ended   bool             `json:"ended"`
		Failure string           `json:"failure"`
		Done    int64            `json:"done"`
		Read    int64            `json:"read"`
		Hidden  int              `json:"hidden"` // number of stages that are not shown
		Stages  []stageFrame     `json:"stages"`
		Models  []*learningFrame `json:"models"`
		Facts   []Fact           `json:"facts"`
		Charts  []Chart          `json:"charts"`
		Texts   []string         `json:"texts"`
	}
	stageFrame struct {
		Name       string        `json:"name"`
		RecordsIn  int64         `json:"recordsIn"`
		RecordsOut int64         `json:"recordsOut"`
		RowsIn     int64         `json:"rowsIn"`
		RowsOut    int64         `json:"rowsOut"`
		Bytes      int64         `json:"bytes"`
		Refused    int64         `json:"refused"`
		Busy       Number        `json:"busy"` // seconds, as are the next two fields
		Waiting    Number        `json:"waiting"`
		Blocked    Number        `json:"blocked"`
		Lag        int64         `json:"lag"`
		Notes      []noteFrame   `json:"notes"`
		Letters    []letterFrame `json:"letters"`
	}
	noteFrame struct {
		Name string `json:"name"`
		N    int64  `json:"n"`
	}
	letterFrame struct {
		Graph int64  `json:"graph"`
		Pos   int64  `json:"pos"`
		Why   string `json:"why"`
	}
	learningFrame struct {
		Stage   string      `json:"stage"`
		Classes []string    `json:"classes"` // names of the rows of Matrix; the last stands for all other classes if Others is above 0
		Others  int         `json:"others"`
		Matrix  [][]int     `json:"matrix"` // number of rows, by class and predicted class
		Bins    []bin       `json:"bins"`
		Rows    int         `json:"rows"`
		Curve   []point     `json:"curve"`
		Epochs  [][5]Number `json:"epochs"` // number; loss and share of correct rows in training; the same in validation
		Alarms  []alarm     `json:"alarms"`
	}
	bin struct {
		N     int    `json:"n"`
		P     Number `json:"p"` // mean of the probabilities
		Right Number `json:"right"`
	}
	point struct {
		At    int64  `json:"at"` // rows of the sink so far
		Loss  Number `json:"loss"`
		Right Number `json:"right"` // share of correct rows; NaN if numbers are learned
		Abs   Number `json:"abs"`
		rows  int
	}
	alarm struct {
		Row    int64  `json:"row"` // number of the row, as the detector counts
		Before Number `json:"before"`
		After  Number `json:"after"`
	}
)

// learned accumulates the reports of one stage.
type learned struct {
	classes []string
	cells   []int32 // class of each row of matrix
	matrix  [mostClasses + 1][mostClasses + 1]int
	bins    [10]bin // by probability; P and Right are sums over rows
	rows    int
	curve   []point
	step    int // number of reports in a point
	inPoint int
	epochs  []sinks.Epoch
	alarms  []alarm
	change  drift.ADWIN
}

// cell returns the row of a class in matrix. Classes beyond the first mostClasses share the last row.
func (l *learned) cell(class int32) int {
	i := slices.Index(l.cells, class)
	switch {
	case i >= 0:
		return i
	case len(l.cells) < mostClasses:
		l.cells = append(l.cells, class)
		return len(l.cells) - 1
	}
	return mostClasses
}

func (l *learned) add(r sinks.Learning, at int64) {
	l.classes, l.epochs = r.Classes, r.Epochs
	for _, g := range r.Rows {
		right := 0.0
		if g.Target == g.Class {
			right = 1
		}
		l.rows++
		l.matrix[l.cell(g.Target)][l.cell(g.Class)]++
		if p := float64(g.P); p >= 0 && p <= 1 {
			b := &l.bins[min(9, int(10*p))]
			b.N, b.P, b.Right = b.N+1, b.P+Number(p), b.Right+Number(right)
		}
		if a, risen := l.change.Add(1 - right); risen {
			l.alarms = append(l.alarms, alarm{a.Position, Number(a.Before), Number(a.After)})
			l.alarms = l.alarms[max(0, len(l.alarms)-mostAlarms):]
		}
	}
	if s := r.Sample; s.Rows > 0 {
		right := Number(s.Correct) / Number(s.Rows)
		if len(r.Rows) == 0 && s.Correct == 0 && s.AbsError != 0 {
			right = Number(math.NaN())
		}
		l.point(point{At: at, Loss: Number(s.Loss), Right: right, Abs: Number(s.AbsError), rows: s.Rows})
	}
}

// point adds a point to the curve. If the curve is full, each two points are merged.
func (l *learned) point(p point) {
	l.step = max(1, l.step)
	if last := len(l.curve) - 1; last >= 0 && l.inPoint < l.step {
		l.curve[last], l.inPoint = merge(l.curve[last], p), l.inPoint+1
		return
	}
	if len(l.curve) == mostPoints {
		for i := range mostPoints / 2 {
			l.curve[i] = merge(l.curve[2*i], l.curve[2*i+1])
		}
		l.curve, l.step = l.curve[:mostPoints/2], 2*l.step
	}
	l.curve, l.inPoint = append(l.curve, p), 1
}

// merge returns the mean of two points, weighted by their rows.
func merge(a, b point) point {
	n := Number(a.rows + b.rows)
	mean := func(x, y Number) Number { return (x*Number(a.rows) + y*Number(b.rows)) / n }
	return point{At: b.At, Loss: mean(a.Loss, b.Loss), Right: mean(a.Right, b.Right), Abs: mean(a.Abs, b.Abs), rows: a.rows + b.rows}
}

func (l *learned) frame(stage string) *learningFrame {
	f := &learningFrame{Stage: stage, Rows: l.rows, Curve: l.curve, Alarms: l.alarms}
	order := make([]int, len(l.cells)) // indices of cells, by class
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(l.cells[a]) - int(l.cells[b]) })
	for _, i := range order {
		name := ""
		if c := int(l.cells[i]); c >= 0 && c < len(l.classes) {
			name = clip(l.classes[c])
		}
		f.Classes = append(f.Classes, name)
	}
	if len(l.cells) == mostClasses && len(l.classes) > mostClasses {
		order, f.Others = append(order, mostClasses), len(l.classes)-mostClasses
		f.Classes = append(f.Classes, "others")
	}
	for _, i := range order {
		var line []int
		for _, j := range order {
			line = append(line, l.matrix[i][j])
		}
		f.Matrix = append(f.Matrix, line)
	}
	for _, b := range l.bins {
		if b.N > 0 {
			b.P, b.Right = b.P/Number(b.N), b.Right/Number(b.N)
		}
		f.Bins = append(f.Bins, b)
	}
	every := (len(l.epochs) + mostPoints - 1) / mostPoints
	for i, e := range l.epochs {
		if i%every != every-1 && i != len(l.epochs)-1 {
			continue
		}
		share := func(right, rows int) Number { return Number(right) / Number(rows) } // NaN without rows
		valid := Number(e.Valid.Loss)
		if e.Valid.Rows == 0 {
			valid = Number(math.NaN())
		}
		f.Epochs = append(f.Epochs, [5]Number{Number(e.Number), Number(e.Train.Loss), share(e.Train.Correct, e.Train.Rows), valid, share(e.Valid.Correct, e.Valid.Rows)})
	}
	return f
}

// look collects the reports of a running run, and returns its statistics.
func (r *run) look() flow.Stats {
	s := r.work.Stats()
	for i, report := range r.work.Report() {
		l, ok := report.(sinks.Learning)
		if !ok || i >= len(s.Stages) {
			continue
		}
		for len(r.learned) <= i {
			r.learned = append(r.learned, learned{change: drift.ADWIN{Rise: true}})
		}
		r.learned[i].add(l, s.Stages[i].RowsIn)
	}
	return s
}

func (r *run) frame() runFrame {
	s, took := r.stats, r.took
	if r.work != nil {
		s, took = r.look(), time.Since(r.began)
	}
	f := runFrame{
		Number: r.number, Name: clip(r.name), Seconds: Number(took.Seconds()), Ended: r.work == nil, Failure: r.failure,
		Done: s.Done, Read: s.Read, Hidden: max(0, len(s.Stages)-mostStages), Stages: []stageFrame{},
	}
	if of, ok := r.work.(interface{ About() About }); ok {
		about := of.About()
		f.Facts, f.Charts, f.Texts = about.Facts, about.Charts, about.Notes
	}
	// The sink stays where stages are left out.
	shown := s.Stages
	if f.Hidden > 0 {
		shown = slices.Concat(s.Stages[:mostStages-1], s.Stages[len(s.Stages)-1:])
	}
	for _, t := range shown {
		g := stageFrame{
			Name: clip(t.Stage), RecordsIn: t.RecordsIn, RecordsOut: t.RecordsOut, RowsIn: t.RowsIn, RowsOut: t.RowsOut,
			Bytes: t.BytesOut, Refused: t.Refused, Lag: t.Lag,
			Busy: Number(t.Busy.Seconds()), Waiting: Number(t.Waiting.Seconds()), Blocked: Number(t.Blocked.Seconds()),
		}
		for _, name := range slices.Sorted(maps.Keys(t.Notes)) {
			if len(g.Notes) < mostNotes {
				g.Notes = append(g.Notes, noteFrame{clip(name), t.Notes[name]})
			}
		}
		for _, l := range t.Letters {
			why := "no reason"
			if l.Err != nil {
				why = clipTo(l.Err.Error(), mostError)
			}
			g.Letters = append(g.Letters, letterFrame{l.Graph, l.Pos, why})
		}
		f.Stages = append(f.Stages, g)
	}
	for i := range r.learned {
		if l := &r.learned[i]; len(l.curve)+len(l.epochs)+l.rows > 0 && i < len(s.Stages) {
			f.Models = append(f.Models, l.frame(clip(s.Stages[i].Stage)))
		}
	}
	return f
}

// next returns the state of the page as JSON, and whether it is the last state. Open pages share a state for
// half an interval.
func (p *Page) next() ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frame != nil && (p.isOver || time.Since(p.framed) < p.interval/2) {
		return p.frame, p.isOver
	}
	now := time.Now()
	f := frame{
		Name: clip(p.Name), Seconds: Number(now.Sub(p.began).Seconds()), Over: p.isOver, Failure: p.failure,
		Ended: p.count[0], Failed: p.count[1], Runs: []runFrame{},
	}
	for _, r := range p.runs {
		switch {
		case now.Sub(r.began) < brief:
		case len(f.Runs) == mostAtWork:
			f.Hidden++
		default:
			f.Runs = append(f.Runs, r.frame())
		}
	}
	for _, r := range slices.Backward(p.ended) {
		f.Runs = append(f.Runs, r.frame())
	}
	b, err := json.Marshal(f)
	if err != nil { // not possible: a frame has numbers and text only
		panic("live: " + err.Error())
	}
	p.frame, p.framed = b, now
	return b, p.isOver
}

// clip shortens a name, and replaces control characters and characters that change the direction of text.
func clip(s string) string { return clipTo(s, mostLetters) }

func clipTo(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n++; n > most {
			return b.String() + "…"
		}
		if !unicode.IsPrint(c) {
			c = ' '
		}
		b.WriteRune(c)
	}
	return b.String()
}
