package picture

import (
	"strings"
	"testing"

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
