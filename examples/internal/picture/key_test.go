package picture

import (
	"bytes"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

type nothing struct{}

func (nothing) Thumbnail(*draw.Canvas) {}

// Text of an SVG is in a font that every reader has, where ours is missing.
func TestFontsFallBack(t *testing.T) {
	sheet, err := NewSheet(10*vg.Centimeter, 5*vg.Centimeter, "a.svg", Key{Sign: nothing{}, Text: "a legend"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sheet.Bytes("a <title>")
	text := string(b)
	for _, part := range []string{`role="img"`, "max-width:100%", "<title>a &lt;title&gt;</title>", "prefers-color-scheme: dark"} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %s", part)
		}
	}
	if err != nil || !strings.Contains(text, "a legend") || strings.Count(text, "font-family:") != strings.Count(text, ",sans-serif;") {
		t.Errorf("%s (%v)", text, err)
	}
}

// An axis begins at 0, or says that it does not.
func TestFit(t *testing.T) {
	for _, test := range []struct {
		low, high, min, max float64
		label               string
	}{
		{40, 65, 39, 66, "y, not from 0"},
		{20, 45, 0, 46, "y"},
		{0, 100, 0, 104, "y"},
		{-50, 50, -54, 54, "y"},
	} {
		c := New("", "x", "y")
		c.Line("", plotter.XYs{{X: 0, Y: test.low}, {X: 1, Y: test.high}}, Blue, 1)
		c.Fit()
		if c.Y.Min != test.min || c.Y.Max != test.max || c.Y.Label.Text != test.label || c.X.Min != 0 || c.X.Max != 1 {
			t.Errorf("%v to %v: the axis is from %v to %v, %q", test.low, test.high, c.Y.Min, c.Y.Max, c.Y.Label.Text)
		}
	}
}

// The name of the vertical axis is read as other text, and is not part of the plot's height.
func TestNameOfAxis(t *testing.T) {
	height := func(name string) (low, high vg.Length) {
		c := New("title", "x", name)
		c.Line("", plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, Blue, 1)
		canvas, err := draw.NewFormattedCanvas(10*vg.Centimeter, 4*vg.Centimeter, "svg")
		if err != nil {
			t.Fatal(err)
		}
		var area area
		c.Add(&area)
		c.Draw(draw.New(canvas))
		b, err := fileOf(canvas, "")
		if err != nil || strings.Contains(string(b), "rotate") || !strings.Contains(string(b), ">"+name+"<") || c.Y.Label.Text != name {
			t.Errorf("%s (%v)", b, err)
		}
		return area.Min.Y, area.Max.Y
	}
	low, high := height("y")
	longLow, longHigh := height(strings.Repeat("long ", 30) + "name")
	if low != longLow || high != longHigh {
		t.Errorf("the plot is from %v to %v, with a long name from %v to %v", low, high, longLow, longHigh)
	}
}

// area notes where a plot is drawn.
type area struct{ vg.Rectangle }

func (a *area) Plot(c draw.Canvas, _ *plot.Plot) { a.Rectangle = c.Rectangle }

// Ticks of a logarithmic axis lie on it, three at least where it spans a decade.
func TestDecades(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{
		{100, 3.4e6, "100 1 k 10 k 100 k 1 M"},
		{5, 50, "5 10 20 50"},
		{2e9, 9e9, "2 G 5 G"},
		{0.02, 0.3, "0.02 0.05 0.1 0.2"},
		{0, 1, ""},
	} {
		var labels []string
		for _, tick := range (Decades{}).Ticks(test.low, test.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != test.want {
			t.Errorf("%v to %v: %q, want %q", test.low, test.high, got, test.want)
		}
	}
}

// A value stands on a white box that covers the lines drawn before it.
func TestValues(t *testing.T) {
	c := New("", "x", "y")
	c.Level("level", 0, 2, 16.2, Gray)
	c.Add(Values{{X: 1, Y: 16.2}})
	b, err := c.File(10*vg.Centimeter, 4*vg.Centimeter, "a.svg")
	line, box, value := bytes.Index(b, []byte("stroke-dasharray")), bytes.LastIndex(b, []byte("fill:#FFFFFF")), bytes.Index(b, []byte(">16.2<"))
	if err != nil || line < 0 || line > box || box > value {
		t.Errorf("line at %d, box at %d, value at %d (%v)", line, box, value, err)
	}
}
