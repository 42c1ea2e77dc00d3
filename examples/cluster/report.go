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
	Kills       int     `json:"kills"`
	Fields      int64   `json:"fields"`
	FieldsPerS  float64 `json:"fields_per_s"`
	Seconds     float64 `json:"seconds"`
	Redelivered int64   `json:"redelivered"` // messages seen again
	Duplicates  int64   `json:"duplicates"`  // of Trained, those once too often in an epoch
	Lost        int64   `json:"lost"`        // that Trained lacks: rows, in each epoch once
	Trained     int64   `json:"trained"`     // rows, in each epoch once
	ModelSHA256 string  `json:"model_sha256"`

	Expected  int64              `json:"expected,omitempty"`         // what Trained should be; 0 where nobody knows
	Sent      int64              `json:"sent,omitempty"`             // rows that the feed has sent: graphs, or chunks of a large graph
	Positions int64              `json:"positions"`                  // different rows of the stream of fields
	CPU       map[string]float64 `json:"cpu_s,omitempty"`            // processor time by role
	PerField  map[string]float64 `json:"cpu_us_per_field,omitempty"` // the same, of each of Fields
	// Of -compare: the fields a CPU second of a worker over those of a process that
	// makes and drops them, and of one that does everything; and those of all roles over
	// the latter.
	WorkerOverFields float64 `json:"worker_over_fields,omitempty"`
	WorkerOverAlone  float64 `json:"worker_over_alone,omitempty"`
	AllOverAlone     float64 `json:"all_over_alone,omitempty"`

	config *config
	gone   string // stream of the feed that is not there any more
	before earlier
	roles  []roleLine
}

// roleLine is a line of the table.
type roleLine struct {
	role          string
	starts, kills int
	cpu           time.Duration
	rows          int64
}

func (r *report) finish(took time.Duration) {
	r.Seconds = took.Seconds()
	r.FieldsPerS = float64(r.Fields) / r.Seconds
	r.Workers, r.Brokers = r.config.workers, r.config.brokers
	switch {
	case r.config.role != "":
		r.Workers = 0 // how many there are elsewhere, nobody knows here
	case r.config.workers == 0:
		r.Brokers = 0
	}
}

// compare sets what -compare asks for.
func (r *report) compare(beside []*process) {
	all := 0.0
	for _, s := range r.CPU {
		all += s
	}
	for _, p := range beside {
		r.CPU[p.role] = p.cpu.Seconds()
		r.roles = append(r.roles, roleLine{p.name, p.starts, p.kills, p.cpu, p.rows})
	}
	r.PerField = map[string]float64{}
	for role, s := range r.CPU {
		r.PerField[role] = s / float64(r.Fields) * 1e6
	}
	if len(beside) > 0 {
		r.WorkerOverFields = r.CPU[roleFields] / r.CPU["work"]
		r.WorkerOverAlone = r.CPU[roleAlone] / r.CPU["work"]
		r.AllOverAlone = r.CPU[roleAlone] / all
	}
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
		fmt.Fprintln(t, "role\tstarted\tkilled\tCPU s\trows\trows per CPU s\t")
		for _, l := range r.roles {
			rate := ""
			if l.rows > 0 && l.cpu > 0 {
				rate = fmt.Sprintf("%.0f", float64(l.rows)/l.cpu.Seconds())
			}
			fmt.Fprintf(t, "%s\t%d\t%d\t%.2f\t%d\t%s\t\n", l.role, l.starts, l.kills, l.cpu.Seconds(), l.rows, rate)
		}
		t.Flush()
	}
	if r.WorkerOverFields > 0 {
		fmt.Fprintf(w, "fields per CPU second: a worker has %.2f × those of one process that makes and drops them, %.2f × those of one that does everything; all roles together %.2f ×\n",
			r.WorkerOverFields, r.WorkerOverAlone, r.AllOverAlone)
	}
	lost := fmt.Sprintf("%d lost", r.Lost)
	if r.gone != "" {
		lost = fmt.Sprintf("%s of those that came (the stream %s of the feed is gone, and how many it has sent nobody knows)", lost, r.gone)
	}
	fmt.Fprintf(w, "%d fields in %.1f s, %.0f a second; %d rows learned from, %s, %d twice; %d messages seen again, %d kills\nmodel %s\n",
		r.Fields, r.Seconds, r.FieldsPerS, r.Trained, lost, r.Duplicates, r.Redelivered, r.Kills, r.ModelSHA256)
}
