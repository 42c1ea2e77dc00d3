package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks/prequential"
)

// report is the JSON object of -json. A figure that a task does not have is null.
type report struct {
	Events           int64     `json:"events"`
	PerSecond        float64   `json:"events_per_s"`
	FieldsRecomputed int64     `json:"fields_recomputed"`
	FieldsChanged    int64     `json:"fields_changed"`
	Latency          latency   `json:"latency_ms"` // of an event; with -every an equal share of a batch
	Valid            *float64  `json:"mrr_valid"`  // of -protocol tgb
	Test             *float64  `json:"mrr_test"`   // on the test part, or on all questions
	Baselines        baselines `json:"baselines"`  // mrr_test of the baselines
	AUC              *float64  `json:"auc"`
	AP               *float64  `json:"ap"`
	Alarms           []alarm   `json:"alarms"`
	Candidates       int       `json:"candidates,omitempty"` // largest number of a question
	CurveOf          string    `json:"curve_of"`
	Curve            []point   `json:"curve"`
	PeakMB           float64   `json:"peak_rss_mb"`
	Seconds          float64   `json:"seconds"`
	Model            string    `json:"model_sha256"`

	c        *config
	start    time.Time
	at       time.Time // of the last call of took
	times    durations
	cut      int64 // times whose fraction was cut off
	curve    curve
	accuracy string // a note in place of figures
}

// point is the mean of a window that ends with a question.
type point struct {
	Question int64   `json:"question"`
	Value    float64 `json:"value"`
}

type latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

type baselines struct {
	EdgeBank        *float64 `json:"edgebank"`
	Recency         *float64 `json:"recency"`
	CommonNeighbors *float64 `json:"common_neighbours"`
	AdamicAdar      *float64 `json:"adamic_adar"`
}

// alarm is a change of the error of the model, 1 − 1/rank.
type alarm struct {
	Question int64   `json:"question"` // from 0
	Time     int64   `json:"time"`
	Before   float64 `json:"error_before"`
	After    float64 `json:"error_after"`
}

func newReport(c *config) *report {
	return &report{c: c, Alarms: []alarm{}, CurveOf: "mean of 1/rank"}
}

func (r *report) begin() { r.start, r.at = time.Now(), time.Now() }

// took adds the time since the last call as that of some events.
func (r *report) took(events int) {
	now := time.Now()
	if events > 0 {
		r.times.add(now.Sub(r.at)/time.Duration(events), int64(events))
	}
	r.at = now
}

func (r *report) answer(a prequential.Answer) error {
	r.curve.add(1 / a.Rank)
	return nil
}

func (r *report) recomputed(fields int64) {
	r.CurveOf = "fields computed again"
	r.curve.add(float64(fields))
}

func (r *report) links(from *prequential.Report, net *nn.Ranker) {
	if from.Valid.Questions > 0 {
		r.Valid = number(from.Valid.MRR)
	}
	s := from.Test
	r.Candidates, r.Model = from.Candidates, net.Hash()
	for _, a := range from.Alarms {
		r.Alarms = append(r.Alarms, alarm{a.Position, a.Time, a.Before, a.After})
	}
	if s.Questions == 0 {
		r.accuracy = "no event is in the part to test on: times are equal; -protocol prequential asks about all"
		if from.Events == 0 {
			r.accuracy = "there are no edges to ask about"
		}
		return
	}
	r.Test, r.AUC, r.AP = number(s.MRR), number(s.AUC), number(s.AP)
	r.Baselines = baselines{
		number(s.Baselines["edgebank"]), number(s.Baselines["recency"]),
		number(s.Baselines["common_neighbours"]), number(s.Baselines["adamic_adar"]),
	}
}

// number returns x, nil for NaN.
func number(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

func (r *report) finish() {
	r.Seconds = time.Since(r.start).Seconds()
	r.PerSecond = float64(r.Events) / r.Seconds
	r.PeakMB = float64(cli.PeakRSS()) / 1e6
	r.Curve = r.curve.points()
	r.Latency = latency{r.times.quantile(0.5), r.times.quantile(0.99), r.times.most}
}

// Print writes the table.
func (r *report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d events, %.0f a second, in %.1f s\n", cli.DataName(r.c.edges), r.Events, r.PerSecond, r.Seconds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range []struct {
		name string
		x    *float64
	}{
		{"MRR, validation", r.Valid}, {"MRR", r.Test}, {"  recency", r.Baselines.Recency}, {"  EdgeBank", r.Baselines.EdgeBank},
		{"  common neighbours", r.Baselines.CommonNeighbors}, {"  Adamic–Adar", r.Baselines.AdamicAdar}, {"AUC", r.AUC}, {"average precision", r.AP},
	} {
		if line.x != nil {
			fmt.Fprintf(w, "%s\t%.4f\n", line.name, *line.x)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Candidates > 0 {
		fmt.Fprintf(out, "of up to %d candidates\n", r.Candidates)
	}
	if r.cut > 0 {
		fmt.Fprintf(out, "%d times have a fraction, which is cut off: -columns scale=1000 keeps three digits\n", r.cut)
	}
	if r.accuracy != "" {
		fmt.Fprintln(out, r.accuracy)
	}
	if r.FieldsRecomputed > 0 {
		fmt.Fprintf(out, "%d fields computed again, %.1f an event, of which %d changed\n", r.FieldsRecomputed, float64(r.FieldsRecomputed)/float64(max(r.Events, 1)), r.FieldsChanged)
	}
	for _, a := range r.Alarms {
		fmt.Fprintf(out, "alarm at question %d, time %d: error %.3f, before %.3f\n", a.Question, a.Time, a.After, a.Before)
	}
	_, err := fmt.Fprintf(out, "an event takes %.3f ms (median), %.3f ms (99 %%), %.1f ms at most; peak %.0f MB resident\n", r.Latency.P50, r.Latency.P99, r.Latency.Max, r.PeakMB)
	return err
}

// File is the picture of -out.
func (r *report) File(_, path string) ([]byte, error) {
	x, name := "questions so far", "means of windows of %d questions, each answered before it is learned from"
	if r.c.task == "fields" {
		x, name = "events so far", fmt.Sprintf("means of windows of %%d events; the fields are computed after every %d", r.c.every)
	}
	p := picture.New(cli.DataName(r.c.edges)+", "+r.c.task, x, r.CurveOf)
	var curve, at plotter.XYs
	for _, point := range r.Curve {
		curve = append(curve, plotter.XY{X: float64(point.Question), Y: point.Value})
	}
	p.Line(fmt.Sprintf(name, max(r.curve.Size, 1)*max(r.curve.Unit, 1)), curve, picture.Blue, 1.5)
	for i, level := range []struct {
		name string
		mrr  *float64
	}{{"recency", r.Baselines.Recency}, {"EdgeBank", r.Baselines.EdgeBank}, {"common neighbours", r.Baselines.CommonNeighbors}, {"Adamic–Adar", r.Baselines.AdamicAdar}} {
		if level.mrr != nil && len(curve) > 0 {
			hue := []color.Color{picture.Orange, picture.Green, picture.Purple, picture.Gray}[i]
			p.Level(fmt.Sprintf("%s without learning, %.4f on the part to test on", level.name, *level.mrr), 0, curve[len(curve)-1].X, *level.mrr, hue)
		}
	}
	if len(r.Alarms) > 0 {
		for _, a := range r.Alarms {
			at = append(at, plotter.XY{X: float64(a.Question), Y: 1 - a.After})
		}
		p.Points("alarm", at, nil, picture.Red, draw.PyramidGlyph{})
	}
	return p.File(18*vg.Centimeter, 10*vg.Centimeter, path)
}

// curve is the means of windows of a stream of any length. At 200 windows every two are joined.
type curve struct {
	Unit    int // number of questions of a value; 0 = 1
	Size, N int // number of values of a window, and of the last one
	Sum     float64
	Means   []float64
}

func (c *curve) add(x float64) {
	c.Size = max(c.Size, 1)
	c.Sum += x
	if c.N++; c.N < c.Size {
		return
	}
	c.Means, c.Sum, c.N = append(c.Means, c.Sum/float64(c.Size)), 0, 0
	if len(c.Means) == 200 {
		for i := range 100 {
			c.Means[i] = (c.Means[2*i] + c.Means[2*i+1]) / 2
		}
		c.Means, c.Size = c.Means[:100], 2*c.Size
	}
}

func (c *curve) points() []point {
	at := make([]point, len(c.Means))
	for i, y := range c.Means {
		at[i] = point{int64((i + 1) * c.Size * max(c.Unit, 1)), y}
	}
	return at
}

// durations is a histogram of times with buckets of 5 %.
type durations struct {
	counts []int64
	n      int64
	most   float64 // in ms
}

func (d *durations) add(t time.Duration, n int64) {
	at := int(math.Log(max(float64(t), 1)) / math.Log(1.05))
	if at >= len(d.counts) {
		d.counts = append(d.counts, slices.Repeat([]int64{0}, at+1-len(d.counts))...)
	}
	d.counts[at] += n
	d.n += n
	d.most = max(d.most, t.Seconds()*1e3)
}

// quantile returns a quantile in ms.
func (d *durations) quantile(share float64) float64 {
	left := int64(share * float64(d.n))
	for at, n := range d.counts {
		if left -= n; left < 0 {
			return min(math.Pow(1.05, float64(at+1))/1e6, d.most)
		}
	}
	return d.most
}
