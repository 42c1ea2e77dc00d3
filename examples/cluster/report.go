package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// report is the figures of a run.
type report struct {
	Workers     int     `json:"workers"` // that this command has started
	Brokers     int     `json:"brokers"`
	Fields      int64   `json:"fields"`
	FieldsPerS  float64 `json:"fields_per_s"`
	Seconds     float64 `json:"seconds"`
	Redelivered int64   `json:"redelivered"` // messages seen again
	Duplicates  int64   `json:"duplicates"`  // of Trained, those once too often in an epoch
	Lost        int64   `json:"lost"`        // that Trained lacks: rows, in each epoch once
	Trained     int64   `json:"trained"`     // rows, in each epoch once
	ModelSHA256 string  `json:"model_sha256"`

	Expected  int64              `json:"expected,omitempty"` // what Trained should be; 0 if that is unknown
	Sent      int64              `json:"sent,omitempty"`     // rows that the feed has sent: graphs, or chunks of a large graph
	Positions int64              `json:"positions"`          // different rows of the stream of fields
	CPU       map[string]float64 `json:"cpu_s,omitempty"`    // processor time by role

	config *config
	gone   bool // the stream of the feed is not there any more
	before earlier
	roles  []*process
}

func (r *report) finish(took time.Duration) {
	r.Seconds = took.Seconds()
	r.FieldsPerS = float64(r.Fields) / r.Seconds
	r.Workers, r.Brokers = r.config.workers, r.config.brokers
	switch {
	case r.config.role != "":
		r.Workers = 0 // others run them
	case r.config.workers == 0:
		r.Brokers = 0
	}
}

// add adds the figures of processes.
func (r *report) add(all ...*process) {
	if r.CPU == nil {
		r.CPU = map[string]float64{}
	}
	for _, p := range all {
		r.CPU[p.role] += p.cpu.Seconds()
		r.Redelivered += p.again
	}
	r.roles = append(r.roles, all...)
}

// expect compares what was learned from with what was sent: as many rows, which are
// so many to learn from, or as many where that is -1.
func (r *report) expect(sent, rows int64) {
	if r.Sent = sent; rows < 0 && !r.config.large() {
		rows = sent
	}
	if rows >= 0 {
		r.Expected = rows * int64(r.config.epochs)
		r.Lost = max(r.Lost, r.Expected-(r.Trained-r.Duplicates))
	}
}

// err is what is wrong with the model.
func (r *report) err() error {
	switch {
	case r.Lost > 0 || r.Duplicates > 0:
		return fmt.Errorf("%d of %d rows were never learned from, %d twice: the model is not that of one process", r.Lost, cmp.Or(r.Expected, r.Trained-r.Duplicates+r.Lost), r.Duplicates)
	case r.Sent > 0 && r.Positions != r.Sent:
		return fmt.Errorf("fields of %d rows came, and the feed has sent %d: the model is not that of one process", r.Positions, r.Sent)
	}
	return nil
}

func (r *report) print(w io.Writer) {
	if len(r.roles) > 0 {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "role\tCPU s\trows\trows per CPU s\t")
		for _, p := range r.roles {
			rows, rate := "", ""
			if p.rows > 0 && p.cpu > 0 {
				rows, rate = fmt.Sprint(p.rows), fmt.Sprintf("%.0f", float64(p.rows)/p.cpu.Seconds())
			}
			fmt.Fprintf(t, "%s\t%.2f\t%s\t%s\t\n", p.name, p.cpu.Seconds(), rows, rate)
		}
		t.Flush()
	}
	lost := fmt.Sprintf("%d lost", r.Lost)
	if r.gone {
		graphs, _ := r.config.streams()
		lost = fmt.Sprintf("%s of those that came (the stream %s of the feed is gone, and with it the count of the rows it sent)", lost, graphs)
	}
	fmt.Fprintf(w, "%d fields in %.1f s, %.0f a second; %d rows learned from, %s, %d twice; %d messages seen again\nmodel %s\n",
		r.Fields, r.Seconds, r.FieldsPerS, r.Trained, lost, r.Duplicates, r.Redelivered, r.ModelSHA256)
}
