package main

import (
	"regexp"
	"strconv"
	"testing"
)

// The legend stands below the label of the axis, so that no line crosses it, however low
// the curve is.
func TestNodesLegendBelowCurve(t *testing.T) {
	low := []float64{10, 15, 20, 21, 18, 14, 12}
	text := regexp.MustCompile(`<text x="[^"]*" y="([^"]*)"[^>]*>([^<]*)</text>`)
	for _, c := range []struct {
		report nodesReport
		axis   string
		legend []string
	}{
		{nodesReport{Protocol: "prequential", Window: 100, Test: 700, Majority: 15, WindowAccuracy: low, curve: low}, "nodes seen",
			[]string{"in windows of 100", "so far", "share of the largest class"}},
	} {
		b, err := c.report.File("out", "a.svg")
		if err != nil {
			t.Fatal(err)
		}
		down := map[string]float64{} // from the top
		for _, m := range text.FindAllStringSubmatch(string(b), -1) {
			if down[m[2]], err = strconv.ParseFloat(m[1], 64); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range c.legend {
			if y, ok := down[name]; !ok || !(y > down[c.axis]) {
				t.Errorf("%s: %q stands at %v, the axis at %v of %v", c.report.Protocol, name, y, down[c.axis], down)
			}
		}
	}
}
