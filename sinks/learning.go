package sinks

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
)

// Learning is the report of Train, Fit and Predict for [flow.Running.Report]: losses, scores and
// predictions. Rows and Sample are of the first rows since the last report, up to 1024, which Train
// predicts before it learns from them; the first report has none.
type Learning struct {
	// Classes are the names of the classes; nil if numbers are learned, or the records name none.
	Classes []string
	// Sample is the mean over the rows of the sample. Predict counts those whose target is
	// known.
	Sample nn.Result
	// Rows are the rows of the sample with a class; none if there are more than 4096 classes.
	Rows []Guess
	// Epochs are the epochs of a Fit so far. They are not to be changed.
	Epochs []Epoch
}

// Guess is the prediction for a row.
type Guess struct {
	Target, Class int32
	P             float32 // the probability of Class
}

const (
	mostGuesses = 1024
	mostSampled = 4096 // classes with sampled rows
)

// asked collects the report of a sink. Without a call of Report it costs one atomic load a record.
type asked struct {
	open    atomic.Bool // the sample needs more rows
	classes []string

	mu  sync.Mutex
	now Learning // report so far; Sample has sums over its rows
}

var (
	_ flow.Reporter = (*trainer)(nil)
	_ flow.Reporter = (*predictor)(nil)
)

// askedOf returns the collector of reports about records with a schema.
func askedOf(s *arrow.Schema) (a *asked) {
	a = &asked{}
	_ = record.Meta(s, record.Target, record.MetaClasses, &a.classes) // the sink has checked it
	return a
}

// Report returns a [Learning] and requests the next.
func (a *asked) Report() any {
	a.mu.Lock()
	defer a.mu.Unlock()
	got := a.now
	got.Classes, got.Sample = a.classes, meanResult(got.Sample)
	a.now = Learning{Epochs: got.Epochs}
	a.open.Store(true)
	return got
}

// epochs sets the epochs so far. The caller may append to them.
func (a *asked) epochs(all []Epoch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now.Epochs = all
}

// guess returns the Guess for a row with these class probabilities.
func guess(target int32, probs []float32) Guess {
	class := argmax(probs)
	return Guess{Target: target, Class: int32(class), P: probs[class]}
}

// add adds rows with the answers of a model. r is the result of a training step; with r.Rows = 0, add
// computes it from the answers.
func (a *asked) add(r nn.Result, rec arrow.Record, answers []float32, classes int) {
	targets, _ := record.Values[int32](rec, record.Target) // a stream to predict may have no targets
	a.mu.Lock()
	defer a.mu.Unlock()
	step := r.Rows > 0
	for i, target := range targets {
		if classes == 0 || classes > mostSampled || len(a.now.Rows) == mostGuesses {
			break
		}
		if target < 0 || int(target) >= classes {
			continue
		}
		probs := answers[i*classes : (i+1)*classes]
		g := guess(target, probs)
		a.now.Rows = append(a.now.Rows, g)
		if step {
			continue
		}
		one := nn.Result{Rows: 1, Loss: -math.Log(max(float64(probs[target]), 1e-30))}
		if g.Class == target {
			one.Correct = 1
		}
		addResult(&a.now.Sample, one)
	}
	if step {
		addResult(&a.now.Sample, r)
	}
	if a.now.Sample.Rows >= mostGuesses || !step && a.now.Sample.Rows == 0 {
		a.open.Store(false)
	}
}
