package prequential

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/internal/temporal"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/nn/validation"
)

// History has the edges so far: all, the Last, or those Within a time.
type History = temporal.History

// Links tests the prediction of the target of each edge, from its source and time, before the edge
// arrives. The answer is the rank of the true target among candidates: 1 + the candidates with a
// higher score + half of the others with an equal one. Zero fields are the defaults.
type Links struct {
	// Net is the model; nil = &nn.Ranker{}.
	Net *nn.Ranker
	// History holds the edges for the features; nil = all edges so far.
	History *temporal.History
	// Every is the number of edges that are predicted before the history and the model learn them; 0 = 1. An
	// edge takes about 30 KB meanwhile. Every · 129 is at most 2²⁰.
	Every int
	// Candidates is the number of candidates of a question, the answer included, drawn with equal probability
	// from the targets; 0 = all targets if they are at most 10 000, else 1000 of them.
	Candidates int
	Seed       uint64 // of candidates and negatives

	// Learned, if set, is called after each Every edges.
	Learned func(edges int) error
	// Drift, if set, receives the error 1 - 1/rank of each answer.
	Drift *drift.ADWIN
	// Each, if set, is called with each answer. An error ends the run.
	Each func(Answer) error

	rng       *rand.Rand
	targets   []int32 // known targets, in order of arrival
	known     []bool  // by node, whether it is a target
	recent    []int32 // the last targets of all sources
	learned   int     // number of edges that were learned
	most      int64   // largest number of candidates of a question
	questions int64   // number of questions so far
	alarms    []drift.Alarm

	candidates []int32
	x          []float32
	scores     []float32
	base       []float64
	skip       []bool
	pending    []nn.Question
	room       []float32 // memory of pending
}

// Benchmark follows the protocol of the Temporal Graph Benchmark (Huang et al., NeurIPS 2023):
// edges up to the 70 % quantile of time are learned from, those up to the 85 % quantile are the
// validation part, the others the test. Candidates are all targets of the stream, but for the other
// true targets of the same source and time in the same part. The model continues to learn in both
// parts, after Every questions. Events must be in order of time; events other than AddEdge are left
// out.
func (l *Links) Benchmark(ctx context.Context, events []event.Event) (*Report, error) {
	if err := l.start(); err != nil {
		return nil, err
	}
	events = slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return e.Kind != event.AddEdge })
	if len(events) < 10 {
		return nil, fmt.Errorf("prequential: %d edges, want 10 or more", len(events))
	}
	for i := 1; i < len(events); i++ {
		if events[i].Time < events[i-1].Time {
			return nil, fmt.Errorf("prequential: event %d has time %d, which is before that of the event before it", events[i].Pos, events[i].Time)
		}
	}
	for _, e := range events {
		l.addTarget(e.Target)
	}
	slices.Sort(l.targets)
	train, valid := upTo(events, 70), upTo(events, 85)
	report, scores := &Report{Events: len(events)}, [3]*meter{1: {}, 2: {}}
	parts, from := []part{{end: train}, {end: valid}, {end: len(events)}}, 0
	for i := range parts {
		parts[i].scores, parts[i].also = scores[i], alsoOf(events[from:parts[i].end])
		from = parts[i].end
	}
	stream := func(yield func(event.Event, error) bool) {
		for i := 0; i < len(events) && yield(events[i], nil); i++ {
		}
	}
	if err := l.learn(ctx, stream, parts); err != nil {
		return nil, err
	}
	report.Valid, report.Test, report.Alarms = scores[1].scores(), scores[2].scores(), l.alarms
	report.Candidates = int(l.most)
	return report, nil
}

type moment struct {
	source int32
	time   int64
}

// upTo returns the number of events up to a quantile of their times, in percent, with numpy's interpolation.
// It uses differences of times alone, so another origin of time changes nothing.
func upTo(events []event.Event, percent int) int {
	at := percent * (len(events) - 1)
	i := at / 100
	since := func(n int) float64 { return float64(uint64(events[n].Time) - uint64(events[i].Time)) }
	most := float64(at%100) * since(i+1) / 100
	n := i + 1
	for n < len(events) && since(n) <= most {
		n++
	}
	return n
}

// Run tests the model on each edge of a stream of any length; its scores are the Test of the
// report. Candidates are the targets so far and the answer, but for the other true targets of the
// same source and time among Every edges. Memory grows with the nodes, and with the pairs that
// History keeps.
func (l *Links) Run(ctx context.Context, events iter.Seq2[event.Event, error]) (*Report, error) {
	if err := l.start(); err != nil {
		return nil, err
	}
	report, scores := &Report{}, &meter{}
	if err := l.learn(ctx, events, []part{{end: math.MaxInt, scores: scores}}); err != nil {
		return nil, err
	}
	report.Events, report.Test, report.Alarms, report.Candidates = scores.n, scores.scores(), l.alarms, int(l.most)
	return report, nil
}

// part is a range of edges of a stream: the training, validation or test part, or the whole stream of Run.
type part struct {
	end    int                // number of edges before its end
	scores *meter             // nil if the edges are only learned
	also   map[moment][]int32 // the targets of each source and time; nil = those of the current Every edges
}

func alsoOf(edges []event.Event) map[moment][]int32 {
	also := map[moment][]int32{}
	for _, e := range edges {
		also[moment{e.Source, e.Time}] = append(also[moment{e.Source, e.Time}], e.Target)
	}
	return also
}

// learn predicts and learns the edges of a stream, Every edges of a part at a time.
func (l *Links) learn(ctx context.Context, events iter.Seq2[event.Event, error], parts []part) error {
	var batch []event.Event
	for e, err := range events {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.Kind != event.AddEdge {
			continue
		}
		for l.learned >= parts[0].end {
			parts = parts[1:]
		}
		e.Cat, e.Attr = slices.Clone(e.Cat), slices.Clone(e.Attr)
		batch = append(batch, e)
		if len(batch) < l.Every && l.learned+len(batch) < parts[0].end {
			continue
		}
		if err := l.batch(ctx, batch, parts[0]); err != nil {
			return err
		}
		batch = batch[:0]
	}
	return l.batch(ctx, batch, parts[0])
}

func (l *Links) start() error {
	l.Every = cmp.Or(l.Every, 1)
	if l.Every < 1 || l.Candidates < 0 || l.Candidates == 1 {
		return fmt.Errorf("prequential: Every is %d, Candidates %d, want positive numbers and no single candidate", l.Every, l.Candidates)
	}
	const most = 1 << 20 / (1 + mostRecent + 2*negatives) // bound of the edges of a batch, whose candidates take 240 bytes each in memory
	if l.Every > most {
		return fmt.Errorf("prequential: Every is %d, want at most %d", l.Every, most)
	}
	if l.Net == nil {
		l.Net = &nn.Ranker{}
	}
	if l.History == nil {
		l.History = &temporal.History{}
	}
	l.rng = rand.New(rand.NewPCG(l.Seed, 0x1155))
	l.learned, l.questions, l.alarms = 0, 0, nil
	return l.Net.Init(temporal.Features)
}

// grow makes room for node v.
func (l *Links) grow(v int32) {
	for int(v) >= len(l.known) {
		l.known = append(l.known, false)
		l.skip = append(l.skip, false)
	}
}

// addTarget makes a node a candidate.
func (l *Links) addTarget(v int32) {
	l.grow(v)
	if !l.known[v] {
		l.known[v] = true
		l.targets = append(l.targets, v)
	}
}

// batch predicts edges of a part, if it has scores, and then learns them.
func (l *Links) batch(ctx context.Context, batch []event.Event, p part) error {
	if len(batch) == 0 {
		return nil
	} else if err := ctx.Err(); err != nil {
		return err
	}
	if p.also == nil {
		p.also = alsoOf(batch)
	}
	l.pending, l.room = l.pending[:0], l.room[:0]
	for _, e := range batch { // ask marks the targets of the other edges in skip
		l.grow(e.Target)
	}
	for i, e := range batch {
		l.addTarget(e.Target)
		if p.scores != nil {
			if err := l.ask(e, i, p.also[moment{e.Source, e.Time}], p.scores); err != nil {
				return err
			}
		}
		if err := l.prepare(e, i); err != nil {
			return err
		}
	}
	for i, q := range l.pending {
		if _, err := l.Net.Learn(q); err != nil {
			return fmt.Errorf("prequential: event %d: %w", batch[i].Pos, err)
		}
	}
	for _, e := range batch {
		if err := l.History.Add(e); err != nil {
			return err
		}
		if l.recent = append(l.recent, e.Target); len(l.recent) > 64*negatives {
			l.recent = l.recent[:copy(l.recent, l.recent[32*negatives:])]
		}
	}
	if l.learned += len(batch); l.Learned != nil {
		return l.Learned(len(batch))
	}
	return nil
}

// ask ranks the target of an edge. The answer is the first candidate.
func (l *Links) ask(e event.Event, lag int, also []int32, scores *meter) error {
	for _, v := range also {
		l.skip[v] = true
	}
	l.skip[e.Target] = true
	list := append(l.candidates[:0], e.Target)
	n := l.Candidates
	if n == 0 && len(l.targets) > mostTargets {
		n = sampledTargets
	}
	if n == 0 || n >= len(l.targets) {
		for _, v := range l.targets {
			if !l.skip[v] {
				list = append(list, v)
			}
		}
	} else {
		// Repeated draws are drawn again, a bounded number of times.
		for try := 0; len(list) < n && try < 8*n; try++ {
			if v := l.targets[l.rng.IntN(len(l.targets))]; !l.skip[v] {
				l.skip[v] = true
				list = append(list, v)
			}
		}
		for _, v := range list {
			l.skip[v] = false
		}
	}
	for _, v := range also {
		l.skip[v] = false
	}
	l.skip[e.Target] = false
	l.candidates, l.most = list, max(l.most, int64(len(list)))
	l.x, l.scores = scratch.Resize(l.x, len(list)*temporal.Features), scratch.Resize(l.scores, len(list))
	l.base = scratch.Resize(l.base, len(list))
	if err := l.History.Describe(e.Source, e.Time, lag, list, l.x); err != nil {
		return err
	}
	if err := l.Net.Score(l.x, l.scores); err != nil {
		return fmt.Errorf("prequential: event %d: %w", e.Pos, err)
	}
	for i, b := range temporal.Baselines() {
		l.History.Score(b, e.Source, list, l.base)
		scores.base[i] += 1 / validation.Rank(l.base, 0)
	}
	if len(list) > 1 {
		scores.compare(l.scores[0], l.scores[1+l.rng.IntN(len(list)-1)])
	}
	return l.answer(scores, Answer{e, validation.Rank(l.scores, 0)})
}

// answer adds an answer to a meter, adds its error to the detector, and records an alarm.
func (l *Links) answer(m *meter, a Answer) error {
	m.n++
	m.sum += 1 / a.Rank
	if a.Rank == 1 {
		m.right++
	}
	at := l.questions
	l.questions++
	if l.Drift != nil {
		if alarm, ok := l.Drift.Add(1 - 1/a.Rank); ok {
			alarm.Position, alarm.Time = at, a.Event.Time
			l.alarms = append(l.alarms, alarm)
		}
	}
	if l.Each != nil {
		return l.Each(a)
	}
	return nil
}

// prepare makes the question from which the model learns an edge, with the state before the edge.
func (l *Links) prepare(e event.Event, lag int) error {
	list := append(l.candidates[:0], e.Target)
	l.skip[e.Target] = true
	add := func(v int32) {
		if !l.skip[v] {
			l.skip[v] = true
			list = append(list, v)
		}
	}
	for _, v := range l.History.Recent(nil, e.Source, mostRecent) {
		l.grow(v) // a history of the caller can hold nodes that l does not know
		add(v)
	}
	for i := len(l.recent) - 1; i >= max(0, len(l.recent)-negatives); i-- {
		add(l.recent[i])
	}
	certain := len(list)
	for range negatives {
		add(l.targets[l.rng.IntN(len(l.targets))])
	}
	for _, v := range list {
		l.skip[v] = false
	}
	l.candidates = list
	from := len(l.room)
	l.room = slices.Grow(l.room, len(list)*temporal.Features)[:from+len(list)*temporal.Features]
	q := nn.Question{X: l.room[from:], Drawn: len(list) - certain}
	if q.Drawn > 0 {
		q.Weight = max(1, float64(len(l.targets)-certain)/float64(q.Drawn))
	}
	l.pending = append(l.pending, q)
	return l.History.Describe(e.Source, e.Time, lag, list, q.X)
}

const (
	// A question for learning has the last mostRecent targets of its source, the last negatives
	// distinct targets of all sources, and negatives random targets.
	negatives  = 32
	mostRecent = 64

	mostTargets    = 10_000 // up to so many targets, all of them are candidates
	sampledTargets = 1000   // number of candidates drawn from more targets
)
