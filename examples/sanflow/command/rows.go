package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// namedTables opens the tables of NAME=FILE,NAME=FILE, or of one FILE.
func (d *data) namedTables(ctx context.Context, flag, text string, each func(name string, t sources.Table) error) error {
	for _, one := range fields(text) {
		name, path, named := strings.Cut(one, "=")
		if !named {
			name, path = "", one
		}
		t, err := sources.OpenTable(ctx, path, d.options())
		if err != nil {
			return cli.Usage(fmt.Errorf("-%s: %w", flag, err))
		}
		if err := each(name, t); err != nil {
			return err
		}
	}
	return nil
}

// rowTablesOf opens -rows and -nodes.
func (d *data) rowTablesOf(ctx context.Context) (s sources.Rows, err error) {
	keys, err := d.keys()
	if err != nil {
		return s, err
	}
	s.Missing = d.declared()
	// of returns the attributes of the model that a table has, of a space if it is named, and their types.
	of := func(has []string, space string) (names []string, types map[string]sources.ColumnType) {
		if d.like == nil {
			return nil, nil
		}
		names, types = attributes(ofSpace(d.like.NodeCat[1:], space), ofSpace(d.like.NodeAttr, space), record.Columns{})
		lacks := func(name string) bool { return !slices.Contains(has, name) }
		maps.DeleteFunc(types, func(name string, _ sources.ColumnType) bool { return lacks(name) })
		return slices.DeleteFunc(names, lacks), types
	}
	if d.like != nil {
		s.Offsets = offsets(d.like.NodeAttr, record.Columns{})
	}
	err = d.namedTables(ctx, "rows", d.rowTables, func(name string, t sources.Table) error {
		has, err := columnNames(ctx, t)
		if err != nil {
			return err
		}
		for _, column := range has {
			if d.like == nil && d.Time == "" && slices.Contains([]string{"time", "date", "timestamp"}, strings.ToLower(column)) {
				d.note(fmt.Sprintf("guessed: no column is the time of a row; -time %s would read the column %q", column, column))
			}
		}
		one := sources.RowTable{Table: t, Name: name}
		several := strings.Contains(d.rowTables, ",")
		for _, k := range keys { // each of several tables has some keys
			if slices.Contains(has, k.Column) || !several {
				one.Keys = append(one.Keys, k)
			}
		}
		column := func(name string) string {
			if several && !slices.Contains(has, name) {
				return ""
			}
			return name
		}
		if d.like != nil && !d.givenID && d.ID != "" && !several && !slices.Contains(has, d.ID) {
			d.note(fmt.Sprintf("guessed: the table has no column %q, the ids of the rows of the training: rows have their numbers, from 1; -id names another column", d.ID))
			d.ID, d.HasID = "", false
		}
		one.ID, one.Time = column(d.ID), column(d.Time)
		class, value := d.single()
		if d.targets && (d.like == nil || slices.Contains(has, class+value)) {
			one.Class, one.Value = column(class), column(value)
		} else if d.targets && !several {
			d.note(fmt.Sprintf("missing values: the table has no column %q, so no class of an earlier row is known", class+value))
		}
		if !strings.HasPrefix(d.Part, timePart) && (d.like == nil || slices.Contains(has, d.Part)) {
			one.Part = column(d.Part)
		}
		one.Attributes, one.Types = of(has, "")
		s.Tables = append(s.Tables, one)
		return nil
	})
	if err != nil {
		return s, err
	}
	err = d.namedTables(ctx, "nodes", d.nodes, func(space string, t sources.Table) error {
		if space == "" {
			return cli.Usage(fmt.Errorf("-nodes: %q, want SPACE=FILE, a table for a space of -key", d.nodes))
		}
		has, err := columnNames(ctx, t)
		if err != nil {
			return err
		}
		one := sources.KeyTable{Space: space, Table: t}
		one.Attributes, one.Types = of(has, space)
		s.Nodes = append(s.Nodes, one)
		return nil
	})
	if err != nil {
		return s, err
	}
	var all []declared
	for i := range s.Tables {
		all = append(all, declared{s.Tables[i].Table, &s.Tables[i].Ignore, &s.Tables[i].Types})
	}
	for i := range s.Nodes {
		all = append(all, declared{s.Nodes[i].Table, &s.Nodes[i].Ignore, &s.Nodes[i].Types})
	}
	found, err := d.declare(ctx, all)
	if err != nil {
		return s, err
	}
	class, value := d.single()
	if name := class + value; d.like == nil && name != "" && !found[name] {
		return s, cli.Usage(fmt.Errorf("no table of -rows has a column %q", name))
	}
	return s, d.undeclared(found)
}

// rowSet reads the tables of rows, by the words of a loaded model.
func (d *data) rowSet(ctx context.Context) (*sources.RowSet, error) {
	tables, err := d.rowTablesOf(ctx)
	if err != nil {
		return nil, err
	}
	set, err := tables.Read(ctx)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	times := ""
	if set.Known() > 0 {
		times = map[bool]string{false: "numbers", true: "dates"}[set.Dates]
	}
	switch {
	case d.like == nil:
		d.Offset, d.Times = set.Offset, times
		for _, c := range set.Columns {
			fmt.Fprintln(os.Stderr, cli.Escape(c))
		}
	case times != d.Times && times != "" && d.Times != "":
		return nil, fmt.Errorf("%s: the times of the column %q are %s, and the model has learned from %s", d.rowTables, d.Time, times, d.Times)
	}
	if err := d.divide(set); err != nil {
		return nil, err
	}
	for _, note := range set.Notes {
		d.note(note)
	}
	if n := set.Rows - set.Known(); n > 0 && d.Time != "" {
		d.note(fmt.Sprintf("missing values: %d of %d rows have no time: they see no other row, and no row sees them", n, set.Rows))
	}
	if d.like == nil {
		d.noteIDs(set)
		if d.Time == "" {
			d.note("guessed: the order of rows is not known without -time: no row sees another one, and keys are of no use")
		}
		return set, nil
	}
	from, unseen := set.Channels, 0
	unseen, d.foreign, err = choose.AdaptRows(d.p, set)
	d.count(unseen, from)
	return set, err
}

// fewestIDs is the number of rows from which on a column with a different word in each row seems to be one
// of ids.
const fewestIDs = 100

// noteIDs reports columns of words that seem to be ids, unless -id is given.
func (d *data) noteIDs(set *sources.RowSet) {
	if d.HasID || set.Rows <= fewestIDs {
		return
	}
	g := set.Graph
	for at, c := range set.Channels.NodeCat[1 : 1+set.Words] {
		met := map[int32]bool{c.Unseen(): true}
		for r := 0; r < set.Rows && len(met) == 1+r; r++ {
			met[g.NodeCat[r*g.NodeCats+1+at]] = true
		}
		if len(met) == 1+set.Rows {
			d.note(fmt.Sprintf("guessed: the column %q is an attribute, though each row has another word; -id %s makes it the ids of the rows, -ignore %s leaves it out", c.Name, c.Name, c.Name))
		}
	}
}

// divide divides the rows by their times, if -part is such. Until keeps the times, which divide the rows
// of other files.
func (d *data) divide(set *sources.RowSet) error {
	if d.Part == "" && d.Time != "" && d.like == nil {
		d.Part = defaultTimePart
		d.note("guessed: -part " + d.Part + ", the shares of the first rows to learn from and of the next to choose by; the others are to test on")
	}
	train, valid, ok, err := sources.ParseTimeSplit(d.Part)
	if err != nil {
		return cli.Usage(fmt.Errorf("-part: %w", err))
	}
	if !ok {
		return nil
	}
	if d.like != nil {
		set.SplitUntil(d.Until)
	} else if d.Until, err = set.SplitTime(train, valid); err != nil {
		return fmt.Errorf("-part %s: %w", d.Part, err)
	}
	return nil
}

// history is the rows of a set as earlier rows of each other. train are the rows to learn from.
func (d *data) history(set *sources.RowSet, train []int32) (h *choose.History, err error) {
	if d.like == nil {
		class, _ := d.single()
		h = &choose.History{Set: set, Train: train, Class: class, Future: d.Future}
		if h.Windows, err = d.windows(); err != nil {
			return nil, err
		}
	} else if h, err = choose.HistoryOf(d.p, set, train); err != nil {
		return nil, err
	}
	if h.Train = append([]int32{}, train...); d.Labels == "all" {
		h.Train = nil
	}
	if d.like != nil && h.Future {
		d.note("the future was seen: the model was trained by -future, so a row sees all later rows of the tables too, and one that is in no table sees those up to the end of the tables")
	}
	h.Delay, err = d.delay()
	if n := unused(h); d.like != nil && d.Labels == "" && n > 0 {
		d.note(fmt.Sprintf("guessed: -labels train, so that later rows know the classes of rows to learn from alone; -labels all uses the classes of %d more rows", n))
	}
	return h, err
}

// unused is the number of rows with a known class that later rows do not use.
func unused(h *choose.History) (n int) {
	if h.Train == nil || h.Set.Value() != nil {
		return 0
	}
	used := make([]bool, h.Set.Rows)
	for _, r := range h.Train {
		used[r] = true
	}
	timed := h.Set.Known()
	for _, r := range learnable(h.Set) {
		if !used[r] && (timed == 0 || int(r) < timed) {
			n++
		}
	}
	return n
}

// learnable returns the rows with a known class or number.
func learnable(set *sources.RowSet) (all []int32) {
	for r := range int32(set.Rows) {
		if set.Learnable(r) {
			all = append(all, r)
		}
	}
	return all
}

// rowParts reads the rows and deals them to parts.
func (d *data) rowParts(ctx context.Context, seed uint64) (*parts, error) {
	set, err := d.rowSet(ctx)
	if err != nil {
		return nil, err
	}
	if set.Value() == nil && len(set.Classes) < 2 {
		return nil, fmt.Errorf("the rows are of %d classes, want two or more: name the column by -class", len(set.Classes))
	}
	p := &parts{classes: set.Classes, rows: set.Rows, release: func() {}, split: slices.Contains(set.Split, sources.Test)}
	if d.unknown = 0; d.like == nil {
		d.unknown = set.Rows - len(learnable(set))
	}
	dealt := set.NodeSet
	if !d.HasID { // by time: the numbers of rows depend on the order of the file
		dealt.IDs = graph.IDs{}
	}
	train, valid, test, err := choose.Deal(&dealt, seed)
	if err != nil {
		return nil, err
	}
	d.noteParts(set.Split, len(valid), len(test))
	if d.like == nil {
		d.noteClasses(set, train)
	}
	if p.digest, err = digestRows(ctx, []flow.Source{&set.NodeSet}, train, valid, test); err != nil {
		return nil, err
	}
	var learned []uint64
	for _, r := range slices.Concat(train, valid) {
		learned = append(learned, sinks.NodeID(set.IDs, r))
	}
	p.known = sinks.KnownRows(learned)
	p.same = p.digest == d.digest
	known := train
	if d.like != nil && set.Split != nil {
		known = set.Subset(sources.Train)
	}
	h, err := d.history(set, known)
	if err != nil {
		return nil, err
	}
	for _, r := range d.foreign {
		if p.split && set.Split[r] == sources.Test {
			p.foreign++
		}
	}
	if p.train, p.valid, p.test = h.Rows(train), h.Rows(valid), h.Rows(test); d.like == nil {
		p.systems, err = h.Systems()
	}
	p.history, d.past, d.tests = h, h, test
	// A test uses the history of predict, where rows that are dealt to choose by or to test on are of the
	// part to learn from.
	p.asked = func(of *sinks.Predictor) (choose.Rows, error) {
		if set.Split == nil || h.Train == nil {
			return p.test, nil
		}
		asked, err := choose.HistoryOf(of, set, set.Subset(sources.Train))
		if err != nil {
			return nil, err
		}
		return asked.Rows(test), nil
	}
	return p, err
}

// noteClasses reports the classes without a row to learn from.
func (d *data) noteClasses(set *sources.RowSet, train []int32) {
	rows := make([]int, len(set.Classes))
	for _, r := range train {
		if set.Value() == nil {
			rows[set.Class[r]]++
		}
	}
	for class, n := range rows {
		if n == 0 {
			d.note(fmt.Sprintf("missing values: of the class %q there is no row to learn from", set.Classes[class]))
		}
	}
}

// fileOrder returns all rows in the order of their files.
func fileOrder(set *sources.RowSet) []int32 {
	rows := make([]int32, set.Rows)
	for r := range rows {
		rows[r] = int32(r)
	}
	slices.SortFunc(rows, func(a, b int32) int {
		x, y := set.Place[a], set.Place[b]
		return cmp.Or(cmp.Compare(x.Table, y.Table), cmp.Compare(x.Row, y.Row))
	})
	return rows
}

// rowsToAsk returns the history of the rows of the tables, for a loaded model. The known classes are those
// of the rows to learn from, or all.
func (d *data) rowsToAsk(ctx context.Context) (*choose.History, error) {
	d.targets = true // later rows use the classes
	set, err := d.rowSet(ctx)
	if err != nil {
		return nil, err
	}
	if d.alone(set) {
		d.note(fmt.Sprintf("guessed: no row of %s is one that the model has learned from, so what is known of earlier rows is that of this file alone: put new rows behind the earlier ones", d.rowTables))
	}
	return d.history(set, set.Subset(sources.Train))
}

// alone reports whether a table has no row of the training, by the times of the training or else by the
// ids of rows.
func (d *data) alone(set *sources.RowSet) bool {
	if set.Known() > 0 && strings.HasPrefix(d.Part, timePart) {
		return set.Time[0] > d.Until[0]
	}
	for r := range int32(set.Rows) {
		if d.knowledge.Learned(sinks.NodeID(set.IDs, r)) > 0 {
			return false
		}
	}
	return d.HasID
}
