package main

import (
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
	Duplicates  int64   `json:"duplicates"`  // rows trained on twice in an epoch
	Lost        int64   `json:"lost"`        // rows never trained on in an epoch
	Trained     int64   `json:"trained"`
	ModelSHA256 string  `json:"model_sha256"`

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
	fmt.Fprintf(w, "%d fields in %.1f s, %.0f a second; %d rows learned from, %d lost, %d twice; %d messages seen again, %d kills\nmodel %s\n",
		r.Fields, r.Seconds, r.FieldsPerS, r.Trained, r.Lost, r.Duplicates, r.Redelivered, r.Kills, r.ModelSHA256)
}
