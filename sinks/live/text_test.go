package live

import (
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sample is a line of the text format of Prometheus.
type sample struct {
	name   string
	labels []string
	x      float64
}

var (
	linePattern  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPattern = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(,|$)`)
	back         = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// parseText reads the text format, as its description has it.
func parseText(t *testing.T, text string) (all []sample, comments int) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Fatalf("the last line of %q does not end", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# HELP ") || strings.HasPrefix(line, "# TYPE ") {
			comments++
			continue
		}
		m := linePattern.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q is no sample", line)
		}
		s := sample{name: m[1]}
		for rest := m[2]; rest != ""; {
			label := labelPattern.FindStringSubmatch(rest)
			if label == nil {
				t.Fatalf("%q has no label at %q", line, rest)
			}
			s.labels, rest = append(s.labels, label[1], back.Replace(label[2])), rest[len(label[0]):]
		}
		x, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		s.x = x
		all = append(all, s)
	}
	return all, comments
}

// What a Text writes is read again as it was, whatever labels and help hold.
func TestText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	letters := []string{`"`, `\`, "\n", "{", "}", ",", "=", " ", "#", "n", "é", "\u2028", "\r", "\x00", "0"}
	word := func() (s string) {
		for range rng.IntN(6) {
			s += letters[rng.IntN(len(letters))]
		}
		return s
	}
	for range 300 {
		var w Text
		var want []sample
		metrics := rng.IntN(4) + 1
		for range metrics {
			w.Metric("some_metric", "gauge", word())
			for range rng.IntN(4) {
				s := sample{name: "some_metric", x: []float64{0, -1, 1e300, 0.1, math.Inf(1), math.Inf(-1)}[rng.IntN(6)]}
				for i := range rng.IntN(3) {
					s.labels = append(s.labels, []string{"a", "b"}[i], word())
				}
				w.Sample("", s.x, s.labels...)
				want = append(want, s)
			}
		}
		got, comments := parseText(t, string(w.Bytes()))
		if comments != 2*metrics || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %v with %d comments, want %v and %d", w.Bytes(), got, comments, want, 2*metrics)
		}
	}
	var w Text
	w.Metric("m", "gauge", "x\xff")
	w.Sample("_sum", math.NaN(), "l", "a\xffb")
	if want := "# HELP m x\ufffd\n# TYPE m gauge\nm_sum{l=\"a\ufffdb\"} NaN\n"; string(w.Bytes()) != want {
		t.Errorf("%q, want %q", w.Bytes(), want)
	}
}
