package sinks

import (
	"errors"
	"fmt"
	"math"
	"slices"

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
	// surer reports whether the cross-entropy at temperature t falls as 1/T grows.
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
func (t Temperature) Keep(m nn.Saver) error { return keep(m, temperatureNote, &t) }

func (t *Temperature) check(s nn.Shape) error {
	switch {
	case ofNumbers(s):
		return errors.New("the model has learned numbers, want one of classes")
	case !(*t >= 1./mostTemperature && *t <= mostTemperature):
		return fmt.Errorf("want a number from 1/%d to %[1]d", mostTemperature)
	}
	return nil
}
