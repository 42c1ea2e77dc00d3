package sinks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/sanflow/sanflow/nn"
)

// setting is a Smoothing, a Temperature, a Prior or what is stored of a Known: a setting of the answers of a model, which its metadata have as JSON.
type setting interface {
	// check returns an error if the setting does not fit a model of a shape. The shape is zero before the training.
	check(s nn.Shape) error
}

// keep puts a setting into the metadata of a model.
func keep(m nn.Saver, key string, v setting) error {
	if err := v.check(m.Shape()); err != nil {
		return fmt.Errorf("the metadata %q of the model: %w", key, err)
	}
	text, err := json.Marshal(v)
	if err == nil {
		m.Metadata()[key] = string(text)
	}
	return err
}

// ofNumbers reports whether a model of a shape has learned numbers. An untrained model has not.
func ofNumbers(s nn.Shape) bool { return s.Classes == 0 && (s.W > 0 || len(s.Counts) > 0) }

// calibration converts outputs of a model to answers.
type calibration struct {
	smoothing *Smoothing // nil: answers are not smoothed
	heat      Temperature
	prior     Prior         // nil: answers are not balanced
	known     *Known        // nil: the model stores no ids
	targets   []calibration // by model of an nn.Targets, from its metadata
}

// calibrationOf reads the metadata of a model.
func calibrationOf(m nn.Predictor) (c calibration, err error) {
	notes := nn.MetadataOf(m)
	// read reports whether the metadata have a setting.
	read := func(key string, v setting) bool {
		if err != nil || notes[key] == "" {
			return false
		}
		d := json.NewDecoder(strings.NewReader(notes[key]))
		d.DisallowUnknownFields()
		if err = d.Decode(v); err == nil && d.More() {
			err = errors.New("there is more than one value")
		}
		if wrong := v.check(m.Shape()); err != nil && wrong != nil { // decoding can fail at a value that is wrong too, and the message names both
			err = fmt.Errorf("%w: %w", wrong, err)
		} else if err == nil {
			err = wrong
		}
		if err != nil {
			err = fmt.Errorf("the metadata %q of the model: %w", key, err)
		}
		return true
	}
	var smoothing Smoothing
	if read(smoothingNote, &smoothing) {
		c.smoothing = &smoothing
	}
	if !read(temperatureNote, &c.heat) {
		c.heat = 1
	}
	read(priorNote, &c.prior)
	var known knownJSON
	if read(knownNote, &known) && err == nil {
		c.known = known.known()
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

// behind applies the temperature and the prior, in place, to outputs or smoothed outputs.
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
