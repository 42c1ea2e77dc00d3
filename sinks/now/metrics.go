package now

import (
	"maps"
	"slices"

	"github.com/sanflow/sanflow/sinks/live"
)

// Text writes the counts as metrics sanflow_event…, and sanflow_learn_… of a model that learns, for Prometheus.
func (s Stats) Text(t *live.Text) {
	for _, by := range []struct {
		name, help string
		events     map[string]int64
	}{
		{"sanflow_events_total", "Accepted events by kind.", s.Events},
		{"sanflow_events_absent_total", "Accepted events that changed nothing, by kind: what they remove or set was not there.", s.Absent},
	} {
		t.Metric(by.name, "counter", by.help)
		for _, kind := range slices.Sorted(maps.Keys(by.events)) {
			t.Sample("", by.events[kind], "kind", kind)
		}
	}
	t.One("sanflow_events_refused_total", "counter", "Events and bodies that were not accepted.", s.Refused)
	t.One("sanflow_events_dead_letters_total", "counter", "Lines that are in the file of refused ones.", s.DeadLetters)
	t.One("sanflow_event_batches_total", "counter", "Transactions of the store.", s.Batches)
	t.One("sanflow_event_visible_seconds_total", "counter", "Time of events from their coming until answers knew them.", s.Lag.Seconds())
	t.One("sanflow_events_waiting", "gauge", "Events that wait.", s.Waiting)
	t.One("sanflow_event_unknown_words_total", "counter", "Words of events that the model does not have.", s.Unknown)
	t.One("sanflow_events_expired_total", "counter", "Edges that were behind the window of time when they came: accepted, and no answer knows them.", s.Expired)
	t.One("sanflow_event_clock_jumps_total", "counter", "Events that moved the clock of the window of time by more than the window at once.", s.Jumps)
	t.One("sanflow_messages_behind", "gauge", "Messages of a topic that are not received yet.", s.Behind)
	t.One("sanflow_last_event_timestamp_seconds", "gauge", "Time since 1970 at which answers knew the last event, or at which the server began.", s.Last.Unix())
	t.One("sanflow_store_size_bytes", "gauge", "Bytes of the file of the store.", s.Bytes)
	t.One("sanflow_event_position", "gauge", "Position of the last event that answers know.", s.Position)
	if s.Learned != nil {
		s.Learned.text(t)
	}
}

// text writes the metrics of learning. Scores are those of the last full window.
func (l *Learned) text(t *live.Text) {
	t.One("sanflow_learn_lessons_total", "counter", "Class events from which the model has learned.", l.Lessons)
	t.One("sanflow_learn_lessons_left_out_total", "counter", "Class events from which it could not learn.", l.LeftOut)
	t.One("sanflow_learn_alarms_total", "counter", "Rises of the share of wrong answers.", l.Alarms)
	t.One("sanflow_learn_loaded_position", "gauge", "Position at which the model file was loaded.", l.Loaded)
	t.One("sanflow_learn_answers_position", "gauge", "Position up to which the model that answers has learned.", l.Answers)
	t.One("sanflow_learn_checkpoint_position", "gauge", "Position of the last checkpoint.", l.Checkpoint)
	if len(l.Windows) == 0 {
		return
	}
	last := l.Windows[len(l.Windows)-1]
	t.Metric("sanflow_learn_score", "gauge", "Scores of the last full window, each answer before the model learned from it.")
	for _, by := range []struct {
		name string
		Scores
	}{{"learner", last.Learner}, {"loaded", last.Loaded}, {"majority", last.Majority}} {
		for _, m := range []struct {
			name string
			x    *float64
		}{{"accuracy", &by.Accuracy}, {"logloss", &by.LogLoss}, {"auc", by.AUC}, {"ap", by.AP}} {
			if m.x != nil {
				t.Sample("", *m.x, "model", by.name, "measure", m.name)
			}
		}
	}
}
