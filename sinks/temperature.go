package sinks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/sanflow/sanflow/nn"
)

// Temperature T calibrates probabilities (Guo, Pleiss, Sun and Weinberger 2017, On
// calibration of modern neural networks, section 4.2): p of a class becomes p^(1/T),
// divided by the sum over the classes. Above 1 a model is less sure of its answers, below
// 1 it is surer. The most probable class stays the same. T is at least 1/50 and at most 50.
type Temperature float64

// mostTemperature bounds a Temperature and its reciprocal.
const mostTemperature = 50

// Temperature returns the temperature with the least cross-entropy. With n rows, the target class has
// weight (n+1)/(n+2), and the other classes share the rest (Platt 1999, Probabilistic outputs for
// support vector machines, section 2.2). So correct answers for all rows do not make a model certain. The
// cross-entropy is convex in 1/T; a bisection of log T finds its minimum. O(40·rows·classes).
// Without rows, or without two classes, the result is 1.
func (a *Answers) Temperature() Temperature {
	if len(a.Class) == 0 || a.Classes < 2 {
		return 1
	}
	var logs []float64 // relative to the largest one of the row
	for row := range slices.Chunk(a.Probs, a.Classes) {
		top := logOf(float64(slices.Max(row)))
		for _, p := range row {
			logs = append(logs, logOf(float64(p))-top)
		}
	}
	right := float64(len(a.Class)+1) / float64(len(a.Class)+2)
	other := (1 - right) / float64(a.Classes-1)
	// surer reports whether the cross-entropy falls with 1/T.
	surer := func(t float64) bool {
		slope := 0.
		for i, target := range a.Class {
			sum, mean := 0., 0.
			row := logs[i*a.Classes : (i+1)*a.Classes]
			for c, x := range row {
				e := math.Exp(x / t)
				sum, mean = sum+e, mean+e*x
				slope -= other * x
				if c == int(target) {
					slope -= (right - other) * x
				}
			}
			slope += mean / sum
		}
		return slope < 0
	}
	low, high := -math.Log(mostTemperature), math.Log(mostTemperature)
	for range 40 {
		if mid := (low + high) / 2; surer(math.Exp(mid)) {
			high = mid
		} else {
			low = mid
		}
	}
	return Temperature(math.Exp((low + high) / 2))
}

// logOf returns the logarithm of a probability. A probability of 0 counts as 1e-30.
func logOf(p float64) float64 { return math.Log(max(p, 1e-30)) }

// Apply calibrates probabilities, (rows, classes), in place.
func (t Temperature) Apply(probs []float32, classes int) {
	powers := make([]float64, classes)
	for ; len(probs) > 0; probs = probs[classes:] {
		row := probs[:classes]
		top := argmax(row)
		most, sum := logOf(float64(row[top])), 0.
		for c, p := range row {
			powers[c] = math.Exp((logOf(float64(p)) - most) / float64(t))
			sum += powers[c]
		}
		for c, x := range powers {
			row[c] = float32(x / sum)
		}
		for c := range row[:top] { // rounding must not change the first of the largest
			row[c] = min(row[c], math.Nextafter32(row[top], 0))
		}
	}
}

// temperatureNote is the metadata key of a Temperature.
const temperatureNote = "temperature"

// Keep puts the temperature into the metadata of a model of classes, which Save writes. A model of
// numbers is an error, here and when a file is read. A Predictor and a Predict apply it to the
// predictions, after a Smoothing. The model itself does not change.
func (t Temperature) Keep(m nn.Saver) error {
	text := strconv.FormatFloat(float64(t), 'g', -1, 64)
	_, err := parseTemperature(text, m.Shape())
	if err == nil {
		m.Metadata()[temperatureNote] = text
	}
	return err
}

// parseTemperature parses the note. The result is 1 without a note.
func parseTemperature(text string, s nn.Shape) (Temperature, error) {
	if text == "" {
		return 1, nil
	}
	if ofNumbers(s) {
		return 1, fmt.Errorf("the metadata %q of the model: the model has learned numbers, want one of classes", temperatureNote)
	}
	t, err := strconv.ParseFloat(text, 64)
	if err != nil || !(t >= 1./mostTemperature && t <= mostTemperature) {
		return 1, fmt.Errorf("the metadata %q of the model: %q, want a number from 1/%d to %[3]d", temperatureNote, text, mostTemperature)
	}
	return Temperature(t), nil
}

// ofNumbers reports whether a model of a shape has learned numbers. An untrained model has not.
func ofNumbers(s nn.Shape) bool { return s.Classes == 0 && (s.W > 0 || len(s.Counts) > 0) }

// calibration converts outputs of a model to answers.
type calibration struct {
	smoothing *Smoothing // or nil
	heat      Temperature
	prior     Prior         // or nil
	known     *Known        // or nil
	targets   []calibration // by model of an nn.Targets, from its metadata
}

// calibrationOf reads the metadata of a model.
func calibrationOf(m nn.Predictor) (c calibration, err error) {
	notes, shape := nn.MetadataOf(m), m.Shape()
	if c.smoothing, err = parseSmoothing(notes[smoothingNote]); err == nil {
		c.heat, err = parseTemperature(notes[temperatureNote], shape)
	}
	if err == nil {
		c.prior, err = parsePrior(notes[priorNote], shape)
	}
	if err == nil {
		c.known, err = parseKnown(notes[knownNote])
	}
	if of, ok := m.(*nn.Targets); ok {
		for i, net := range of.Nets {
			one, failed := calibrationOf(net)
			if err == nil && (failed != nil || one.smoothing != nil) {
				err = fmt.Errorf("target %d: %w", i, cmp.Or(failed, errors.New("one of several targets is not smoothed")))
			}
			c.targets = append(c.targets, one)
		}
	}
	if err == nil && c.smoothing != nil && c.smoothing.Classes && (c.known == nil || c.known.class == nil) {
		err = fmt.Errorf("the metadata %q of the model: it propagates classes, and %q has none", smoothingNote, knownNote)
	}
	return c, err
}

// direct calibrates outputs of a model in place, unless they are smoothed first.
func (c calibration) direct(said []float32, s nn.Shape) {
	for len(said) > 0 && len(s.Targets) > 0 {
		for i, classes := range s.Targets {
			n := max(1, classes)
			c.targets[i].behind(said[:n], classes)
			said = said[n:]
		}
	}
	if c.smoothing == nil {
		c.behind(said, s.Classes)
	}
}

// behind calibrates outputs or smoothed outputs in place.
func (c calibration) behind(said []float32, classes int) {
	if classes == 0 {
		return
	}
	if c.heat != 1 {
		c.heat.Apply(said, classes)
	}
	c.prior.Apply(said)
}

// logits calibrates contributions to logits in place, as direct calibrates answers.
func (c calibration) logits(k nn.Contributions) {
	if c.smoothing != nil || k.Outputs < 2 {
		return
	}
	floats.Scale(1/float64(c.heat), k.Bias)
	floats.Scale(1/float64(c.heat), k.Weights)
	floats.Scale(1/float64(c.heat), k.Columns)
	for class, share := range c.prior {
		k.Bias[class] -= math.Log(share)
	}
}
