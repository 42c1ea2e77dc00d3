package main

import (
	"sync"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/sinks"
)

// shown is what a page shows of the stream: events, and the mean of 1 - 1/rank of the answers.
// On a nil one nothing is done.
type shown struct {
	mu     sync.Mutex
	task   string
	events int64
	losses nn.Result // Loss is the sum since the last report
	alarms []drift.Alarm
}

func (s *shown) event() {
	if s != nil {
		s.mu.Lock()
		s.events++
		s.mu.Unlock()
	}
}

func (s *shown) answer(reciprocal float64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.losses.Rows++
	s.losses.Loss += 1 - reciprocal
	if reciprocal == 1 {
		s.losses.Correct++
	}
	s.mu.Unlock()
}

func (s *shown) alarm(a drift.Alarm) error {
	if s != nil {
		s.mu.Lock()
		s.alarms = append(s.alarms, a)
		s.mu.Unlock()
	}
	return nil
}

// Stats and Report implement flow.Observed.
func (s *shown) Stats() flow.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return flow.Stats{Done: -1, Read: -1, Stages: []flow.StageStats{
		{Stage: "events", RecordsOut: s.events, RowsOut: s.events}, {Stage: s.task, RecordsIn: s.events, RowsIn: s.events},
	}}
}

func (s *shown) Report() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := sinks.Learning{Sample: s.losses, Alarms: s.alarms}
	l.Sample.Loss /= float64(max(1, s.losses.Rows))
	s.losses = nn.Result{}
	return []any{nil, l}
}
