// Package otel exports the statistics of a run by OpenTelemetry, as metrics and as
// spans. Metrics are instruments whose callback takes a snapshot (flow.Running.Stats)
// at each collection. Nothing is done in between. The caller chooses the exporter.
//
//	run := pipeline.Start(ctx)
//	reg, err := otel.Observe(provider.Meter("myprogram"), run)
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer reg.Unregister()
//	err = run.Wait()
//
// The instruments, all with the attribute "stage", the name of the stage in plans:
//
//	sanflow.stage.records   {record}  counter; "direction" is in or out
//	sanflow.stage.rows      {row}     counter; "direction" is in or out
//	sanflow.stage.bytes     By        counter, of what goes out
//	sanflow.stage.refused   {row}     counter
//	sanflow.stage.time      s         counter; "state" is busy, waiting or blocked
//	sanflow.stage.events    {event}   counter; "event" is the name of a note
//	sanflow.stage.lag       {message} gauge; of sources that know what waits for them
//	sanflow.done            {row}     gauge, without "stage": the low watermark
//
// Trace makes spans: one of a run, and in it one of each stage. There are none of records, and none
// goes from machine to machine in the headers of messages: a record takes microseconds to a few
// milliseconds, of which spans of all its stages would be a good part. The position of a record is
// the same on every machine. It identifies the record in the stream, in checkpoints, and in dead
// letters, which have the stage and the reason. What is slow the metrics tell by stage.
//
// It is OpenTelemetry, and not Prometheus, since that has one interface for both, and a
// Prometheus exporter of its own.
package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/sanflow/sanflow/flow"
)

// Statistics is implemented by *flow.Running.
type Statistics interface{ Stats() flow.Stats }

// Observe lets meter observe a run, until the registration that it returns is
// unregistered; attributes are added to each value, to tell runs apart.
func Observe(meter metric.Meter, run Statistics, attributes ...attribute.KeyValue) (metric.Registration, error) {
	var i instruments
	if err := i.create(meter); err != nil {
		return nil, err
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		i.observe(o, run.Stats(), attributes)
		return nil
	}, i.records, i.rows, i.bytes, i.refused, i.time, i.events, i.lag, i.done)
}

type instruments struct {
	records, rows, bytes, refused, events metric.Int64ObservableCounter
	time                                  metric.Float64ObservableCounter
	lag, done                             metric.Int64ObservableGauge
}

func (i *instruments) create(meter metric.Meter) (err error) {
	for _, c := range []struct {
		to              *metric.Int64ObservableCounter
		name, unit, say string
	}{
		{&i.records, "records", "{record}", "Records that came into, or went out of, a stage."},
		{&i.rows, "rows", "{row}", "Rows that came into, or went out of, a stage."},
		{&i.bytes, "bytes", "By", "Bytes of the buffers behind the records that went out of a stage."},
		{&i.refused, "refused", "{row}", "Rows that a stage refused."},
		{&i.events, "events", "{event}", "Events that a stage has noted."},
	} {
		*c.to, err = meter.Int64ObservableCounter("sanflow.stage."+c.name, metric.WithUnit(c.unit), metric.WithDescription(c.say))
		if err != nil {
			return err
		}
	}
	i.time, err = meter.Float64ObservableCounter("sanflow.stage.time", metric.WithUnit("s"),
		metric.WithDescription("Time in a stage's own code, summed over workers, waiting for records, and for others to take them."))
	if err != nil {
		return err
	}
	i.lag, err = meter.Int64ObservableGauge("sanflow.stage.lag", metric.WithUnit("{message}"),
		metric.WithDescription("Messages that wait to be read by a source."))
	if err != nil {
		return err
	}
	i.done, err = meter.Int64ObservableGauge("sanflow.done", metric.WithUnit("{row}"),
		metric.WithDescription("Every row with a position up to this one has left the pipeline."))
	return err
}

func (i *instruments) observe(o metric.Observer, s flow.Stats, attributes []attribute.KeyValue) {
	of := func(more ...attribute.KeyValue) metric.ObserveOption {
		return metric.WithAttributes(append(more, attributes...)...)
	}
	for _, t := range s.Stages {
		stage := attribute.String("stage", t.Stage)
		in, out := of(stage, attribute.String("direction", "in")), of(stage, attribute.String("direction", "out"))
		o.ObserveInt64(i.records, t.RecordsIn, in)
		o.ObserveInt64(i.records, t.RecordsOut, out)
		o.ObserveInt64(i.rows, t.RowsIn, in)
		o.ObserveInt64(i.rows, t.RowsOut, out)
		o.ObserveInt64(i.bytes, t.BytesOut, of(stage))
		o.ObserveInt64(i.refused, t.Refused, of(stage))
		for state, d := range map[string]time.Duration{"busy": t.Busy, "waiting": t.Waiting, "blocked": t.Blocked} {
			o.ObserveFloat64(i.time, d.Seconds(), of(stage, attribute.String("state", state)))
		}
		o.ObserveInt64(i.lag, t.Lag, of(stage))
		for event, n := range t.Notes {
			o.ObserveInt64(i.events, n, of(stage, attribute.String("event", event)))
		}
	}
	o.ObserveInt64(i.done, s.Done, of())
}
