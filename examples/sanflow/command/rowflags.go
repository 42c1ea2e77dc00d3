package command

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/operators/earlier"
	"github.com/sanflow/sanflow/sources"
)

// rowColumns is the flags of -task rows alone. A model stores them.
type rowColumns struct {
	Keys    string `json:",omitempty"`
	Windows string `json:",omitempty"`
	Delay   string `json:",omitempty"`
	Labels  string `json:",omitempty"`
	Future  bool   `json:",omitempty"`
	// Times is the kind of the times of the training, numbers or dates; "" without times.
	Times string `json:",omitempty"`
	// Until are the times of the last row to learn from and of the last row to choose by, if Part divides
	// by time.
	Until [2]float64 `json:",omitzero"`
}

// timePart is the prefix of a -part that divides rows by time.
const timePart = "time:"

// defaultTimePart is the -part of rows with times: 60 % to learn from, 15 % to choose by, 25 % to test on.
const defaultTimePart = timePart + "0.6,0.15"

func (d *data) rowFlags(f *flag.FlagSet) {
	f.StringVar(&d.rowTables, "rows", "", "in place of -data, a table of rows to classify, such as payments, in the formats of -edges; NAME=FILE,NAME=FILE are several tables of one graph")
	f.StringVar(&d.Keys, "key", "", "comma-separated columns of -rows that join rows, COLUMN or COLUMN:SPACE: equal values of one space are one thing, as in source:account,target:account")
	f.StringVar(&d.Windows, "windows", "", "comma-separated times before a row whose rows are counted apart, beside all rows before it: numbers in the unit of -time, or 30s, 5m, 1h, 7d where that is seconds or a date")
	f.StringVar(&d.Delay, "label-delay", "", "time after a row from which on its class is known to later rows, as in -windows; by default it is known at once")
	f.StringVar(&d.Labels, "labels", "", "whose classes later rows know: train, those to learn from, by default; all, also those to choose by and to test on, as in operation, and as serve -events always has it")
	f.BoolVar(&d.Future, "future", false, "let a row see the rows after it too, and their classes that -labels names: for tables that are complete when a question is asked")
}

// checkRows checks the flags of -task rows. given are the flags of the command line.
func (d *data) checkRows(given []string) error {
	for _, name := range []string{"source", "target", "graph", "graphs", "type", "weight", "before", "repeated", "spaces", "smiles", "directed", "skip"} {
		if slices.Contains(given, name) && !(d.explains && name == "graph") {
			return cli.Usage(fmt.Errorf("-%s is not for -rows, whose columns -key, -time, -class and -id name", name))
		}
	}
	if d.HasID = d.HasID || slices.Contains(given, "id"); !d.HasID {
		d.ID = ""
	}
	switch {
	case d.data != "" || d.edges != "":
		return cli.Usage(errors.New("-rows is in place of -data and -edges: set one of them"))
	case d.Keys == "":
		return cli.Usage(errors.New("-task rows wants -key, the columns that join rows, such as -key source:account,target:account"))
	case !slices.Contains([]string{"", "train", "all"}, d.Labels):
		return cli.Usage(fmt.Errorf("-labels is %q, want train or all", d.Labels))
	case d.Time == "" && (d.Windows != "" || d.Delay != ""):
		return cli.Usage(errors.New("-windows and -label-delay want -time, the column of the time of a row"))
	case d.Time == "" && strings.HasPrefix(d.Part, timePart):
		return cli.Usage(fmt.Errorf("-part %s wants -time, the column of the time of a row", d.Part))
	}
	keys, err := d.keys()
	if err != nil {
		return err
	}
	class, value := d.single()
	if d.explains && slices.Contains(given, "class") { // the class to explain
		class = ""
	}
	part := d.Part
	if strings.HasPrefix(part, timePart) {
		part = ""
	}
	roles := [][3]string{{"rows", "time", d.Time}, {"rows", "class", class}, {"rows", "value", value}, {"rows", "id", d.ID}, {"rows", "part", part}}
	for _, k := range keys {
		roles = append(roles, [3]string{"rows", "key", k.Column})
	}
	if err := oneRole(roles); err != nil {
		return err
	}
	if _, err := d.windows(); err != nil {
		return err
	}
	if _, err := d.delay(); err != nil {
		return err
	}
	if _, _, _, err = sources.ParseTimeSplit(d.Part); err != nil {
		err = cli.Usage(fmt.Errorf("-part: %w", err))
	}
	return err
}

// keys are the keys of -key.
func (d *data) keys() (keys []sources.Key, err error) {
	for _, text := range strings.Split(d.Keys, ",") {
		key := sources.Key{Column: text}
		if at := strings.LastIndexByte(text, ':'); at > 0 { // the name of a column of Neo4j begins with a colon
			key = sources.Key{Column: text[:at], Space: text[at+1:]}
		}
		if key.Column == "" || strings.HasSuffix(text, ":") {
			return nil, cli.Usage(fmt.Errorf("-key: %q, want COLUMN or COLUMN:SPACE", text))
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// windows are the windows of -windows, named by their texts.
func (d *data) windows() (all []earlier.Window, err error) {
	for _, text := range fields(d.Windows) {
		length, err := timeSpan(text)
		if err != nil || length <= 0 {
			return nil, cli.Usage(fmt.Errorf("-windows: %q, want a number above 0 in the unit of -time, or a time such as 30s, 5m, 1h or 7d", text))
		}
		all = append(all, earlier.Window{Name: text, Length: length})
	}
	return all, nil
}

// delay is the time of -label-delay.
func (d *data) delay() (float64, error) {
	if d.Delay == "" {
		return 0, nil
	}
	length, err := timeSpan(d.Delay)
	if err != nil || length < 0 {
		return 0, cli.Usage(fmt.Errorf("-label-delay: %q, want a number of 0 or more in the unit of -time, or a time such as 30s, 5m, 1h or 7d", d.Delay))
	}
	return length, nil
}

// timeSpan parses a length of time: a number, or a number with a unit, in seconds.
func timeSpan(text string) (float64, error) {
	unit := map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 24 * 3600, 'w': 7 * 24 * 3600}
	if n := len(text); n > 1 && unit[text[n-1]] > 0 {
		if x, err := strconv.ParseFloat(text[:n-1], 64); err == nil && !math.IsInf(x, 0) {
			return x * unit[text[n-1]], nil
		}
		long, err := time.ParseDuration(text)
		return long.Seconds(), err
	}
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = strconv.ErrRange
	}
	return x, err
}

// fields are the parts of a text between commas.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
