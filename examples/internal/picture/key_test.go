package picture

import (
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

type nothing struct{}

func (nothing) Thumbnail(*draw.Canvas) {}

// Text of an SVG is in a font that every reader has, where ours is missing.
func TestFontsFallBack(t *testing.T) {
	sheet, err := NewSheet(10*vg.Centimeter, 5*vg.Centimeter, "svg", Key{Sign: nothing{}, Text: "a legend"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sheet.Bytes()
	text := string(b)
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
