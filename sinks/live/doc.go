// Package live shows pipelines at work on a page: their stages with rows, bytes and queues,
// which of them are busy, wait or are blocked, positions and lag, refused rows with reasons,
// and of models that learn the curves, the confusion matrix, the calibration and alarms.
//
//	page := &live.Page{Name: "my program"}
//	mux.Handle("/live/", page)
//	err := pipeline.Run(page.Watch(ctx))
//	page.End(err)
//
// Work that is announced or added and has a method About shows its own facts, charts and notes above its stages.
// Every pipeline below the context of Watch is shown, including pipelines of Fit and of a
// Predictor. The page is at the path where it is mounted, which ends with a slash; "events" below
// it is the stream of server-sent events that it reads, twice a second, and "metrics" the counts in
// the text format of Prometheus:
//
//	sanflow_stage_records_total  {role, stage, direction}; direction is in or out
//	sanflow_stage_rows_total     {role, stage, direction}
//	sanflow_stage_bytes_total    {role, stage}, of what goes out
//	sanflow_stage_refused_total  {role, stage}, rows
//	sanflow_stage_seconds_total  {role, stage, state}; state is busy, waiting or blocked
//	sanflow_stage_events_total   {role, stage, event}; event is the name of a note
//	sanflow_stage_lag            {role, stage}, messages, of runs at work
//	sanflow_runs                 runs at work
//	sanflow_runs_total           {result}; result is ended or failed
//
// Values of one stage are summed over the runs, those that have ended too. role is the name
// of what Add was called with. Text writes metrics of a program's own in that format.
//
// Counts are those of flow.Running.Stats. If no page is open, nothing is computed but
// that a run has begun or ended. If one is open, the statistics are read twice a second,
// and models note the first 1024 rows of each half second (sinks.Learning), which the
// confusion matrix, the calibration and the alarms are made of: they begin when the page is
// opened. Epochs of a Fit are all there. BenchmarkPage measures the cost: the time of a run
// with an open page and without one do not differ by 1 %.
//
// # Limits
//
// A page shows 8 runs at work and 4 that have ended, 32 stages of each, 20 classes, 256 points of a
// curve, and 120 letters of a name; it names omissions. 16 pages may be open, and others get status
// 503. A client that takes no data for 5 s is dropped. The page requests nothing from another host,
// and its content security policy forbids it. There is no authentication: every client of the
// address can read names of stages and classes, and reasons of refusals. Listen at localhost, or
// mount the handler behind your own check.
package live
