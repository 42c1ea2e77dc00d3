package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
)

const (
	initRows   = 1 << 14 // rows of a table that init looks at
	fewestKeys = 4       // values of a key: what has fewer joins too many rows
	unreadable = 0.05    // share of the texts of a column of SMILES that may be none
)

// Names of columns that tell what they are, in lower case.
var (
	namesClass = regexp.MustCompile(`^(class|label|target|y|role|kind|category|status|outcome|active|fraud)$|^is_|_(class|label)$`)
	namesTime  = regexp.MustCompile(`time|date|^ts$|^at$|_at$`)
	namesFrom  = regexp.MustCompile(`^(source|src|from|sender|head|u)(_?(id|node|account))?$`)
	namesTo    = regexp.MustCompile(`^(target|tgt|dst|dest|to|receiver|tail|v)(_?(id|node|account))?$`)
)

// lookedAt is a table that init has looked at.
type lookedAt struct {
	path    string
	rows    int
	columns []*lookedColumn
}

// lookedColumn is a column of it, with how often it has each value.
type lookedColumn struct {
	name                  string
	values                map[string]int
	filled                int
	numbers, dates, whole int // number of values; whole are the numbers that may be ids
}

func initial(ctx context.Context, args []string) error {
	f := cli.Flags("sanflow init", about("init")+"\n\n  sanflow init FILE …\n\nA FILE is a table: .csv, .tsv, .jsonl, .json or .parquet. What init guesses of its columns is in lines of standard error that begin with \"guessed\"; the command alone is on standard output.")
	if err := cli.ParseArgs(f, args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return cli.Usage(errors.New("want the tables to look at"))
	}
	var all []*lookedAt
	for _, path := range f.Args() {
		t, err := lookAt(ctx, path)
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	var line fit
	if err := line.choose(all); err != nil {
		return err
	}
	for i, word := range line {
		if strings.ContainsFunc(word, func(r rune) bool {
			return !strings.ContainsRune("_-./,:=@%+", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			line[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	fmt.Println("sanflow train " + strings.Join(line, " "))
	return nil
}

// lookAt reads the first rows of a table.
func lookAt(ctx context.Context, path string) (*lookedAt, error) {
	table, err := sources.OpenTable(ctx, path, (&data{}).options())
	if err != nil {
		return nil, cli.Usage(err)
	}
	r, err := table.OpenTable(ctx)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	defer r.Close()
	t, at := &lookedAt{path: path}, []int(nil)
	for i, c := range r.Columns() {
		if c.Type != sources.Unusable && c.Name != "" {
			at = append(at, i)
			t.columns = append(t.columns, &lookedColumn{name: c.Name, values: map[string]int{}})
		}
	}
	r.Choose(at)
	for t.rows < initRows {
		batch, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, cli.Cause(ctx, err)
		}
		var scratch []byte
		for i := range batch.Values {
			for row := range batch.Rows {
				if text, ok := batch.Values[i].At(row, &scratch); ok {
					t.columns[i].add(string(text), r.Columns()[at[i]].Dates)
				}
			}
		}
		t.rows += batch.Rows
	}
	if t.rows == 0 {
		return nil, fmt.Errorf("%s: the table has no rows", path)
	}
	return t, nil
}

func (c *lookedColumn) add(text string, dates bool) {
	c.values[text]++
	c.filled++
	_, isDate, err := sources.ParseTime(text)
	if err == nil && (isDate || dates) {
		c.dates++
	} else if err == nil {
		c.numbers++
	}
	if err == nil && !isDate && !strings.ContainsAny(text, ".eE") {
		c.whole++
	}
}

// noValues are texts that stand for no value in a column of numbers.
var noValues = []string{"NA", "N/A", "NULL", "null", "None", "?", "-"}

// missing returns those of noValues that are in columns of numbers, which have them no more.
func (t *lookedAt) missing() (found []string) {
	for _, c := range t.columns {
		left, none := c.filled, []string(nil)
		for _, text := range noValues {
			if n := c.values[text]; n > 0 {
				left, none = left-n, append(none, text)
			}
		}
		if left == c.numbers && left > 0 {
			for _, text := range none {
				delete(c.values, text)
			}
			c.filled, found = left, append(found, none...)
		}
	}
	return found
}

// unique reports whether no two rows have one value, and all have one.
func (c *lookedColumn) unique(rows int) bool { return len(c.values) == rows }

// ids reports whether the values can be ids: texts or whole numbers that are not dates.
func (c *lookedColumn) ids() bool {
	return c.dates == 0 && (c.whole == c.filled || c.numbers < c.filled)
}

// shared is the share of the values of a column that are also in another.
func (c *lookedColumn) shared(of *lookedColumn) float64 {
	n := 0
	for text := range c.values {
		if of.values[text] > 0 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(c.values)))
}

// id returns the column of the ids of rows: no two rows have one value, which are texts, or its name says so.
func (t *lookedAt) id(used ...*lookedColumn) *lookedColumn {
	return t.find(func(c *lookedColumn) bool {
		return !slices.Contains(used, c) && c.unique(t.rows) && c.ids() && (c.numbers == 0 || strings.Contains(strings.ToLower(c.name), "id"))
	})
}

// find returns the first column that is the case, or nil.
func (t *lookedAt) find(is func(*lookedColumn) bool) *lookedColumn {
	if at := slices.IndexFunc(t.columns, is); at >= 0 {
		return t.columns[at]
	}
	return nil
}

// target returns the flag and the column of what can be learned: a column with the name of a class, or, of
// others, the last with 2 to 20 values that repeat; nil if there is none.
func (t *lookedAt) target(used ...*lookedColumn) (flag string, c *lookedColumn) {
	free := func(c *lookedColumn) bool { return !slices.Contains(used, c) && len(c.values) > 1 && c.dates == 0 }
	named := t.find(func(c *lookedColumn) bool { return free(c) && namesClass.MatchString(strings.ToLower(c.name)) })
	if named != nil {
		if len(named.values) > 20 && named.numbers == named.filled {
			return "-value", named
		}
		return "-class", named
	}
	for _, c := range slices.Backward(t.columns) {
		if free(c) && len(c.values) <= min(20, t.rows/4) && c.ids() {
			return "-class", c
		}
	}
	return "", nil
}

// ends returns the two columns of a table that look like the ends of edges, or nil: by their names, or because
// they have the most values in common, a quarter or more, which are not few numbers.
func (t *lookedAt) ends() (a, b *lookedColumn) {
	a = t.find(func(c *lookedColumn) bool { return c.ids() && namesFrom.MatchString(strings.ToLower(c.name)) })
	b = t.find(func(c *lookedColumn) bool { return c.ids() && namesTo.MatchString(strings.ToLower(c.name)) })
	if a != nil && b != nil {
		return a, b
	}
	a, b = nil, nil
	most := 0.25
	for i, c := range t.columns {
		for _, d := range t.columns[i+1:] {
			if !c.ids() || !d.ids() || c.unique(t.rows) && d.unique(t.rows) || min(len(c.values), len(d.values)) < max(8, t.rows/50) {
				continue
			}
			if s := min(c.shared(d), d.shared(c)); s >= most && (a == nil || s > most) {
				a, b, most = c, d, s
			}
		}
	}
	return a, b
}

// fit is the command line that fits tables.
type fit []string

// add adds a flag, and says why.
func (f *fit) add(flag, value, why string, args ...any) {
	*f = append(*f, flag, value)
	fmt.Fprintln(os.Stderr, cli.Escape(fmt.Sprintf("guessed: %s %s: %s", flag, value, fmt.Sprintf(why, args...))))
}

// learn adds the target of a table, which is not one of the used columns.
func (f *fit) learn(t *lookedAt, used ...*lookedColumn) error {
	flag, c := t.target(used...)
	if c == nil {
		return fmt.Errorf("%s: no column looks like a class: name one by -class or -value, sanflow help train", t.path)
	}
	f.add(flag, c.name, "the column has %d values, and is learned", len(c.values))
	f.rank(flag, c)
	return nil
}

// rank adds the score of classes, one of which is rare.
func (f *fit) rank(flag string, classes ...*lookedColumn) {
	for _, c := range classes {
		for class, n := range c.values {
			if flag == "-class" && len(c.values) == 2 && float64(n) < rare*float64(c.filled) {
				f.add("-score", "auc", "the class %s of %s is rare", class, c.name)
				return
			}
		}
	}
}

// time adds the column of the time: dates, or numbers with such a name.
func (f *fit) time(t *lookedAt, used ...*lookedColumn) {
	if at := t.find(func(c *lookedColumn) bool {
		return !slices.Contains(used, c) && c.filled == t.rows && (c.dates == c.filled || c.numbers == c.filled && namesTime.MatchString(strings.ToLower(c.name)))
	}); at != nil {
		f.add("-time", at.name, "the column says when")
	}
}

// choose adds the flags for the tables.
func (f *fit) choose(all []*lookedAt) error {
	var missing []string
	for _, t := range all {
		missing = append(missing, t.missing()...)
	}
	if slices.Sort(missing); len(missing) > 0 {
		f.add("-missing", strings.Join(slices.Compact(missing), ","), "there are numbers beside it alone")
	}
	if t := all[0]; len(all) == 1 {
		bad := 0
		if smiles := t.find(func(c *lookedColumn) (is bool) { bad, is = c.molecules(); return is }); smiles != nil {
			return f.molecules(t, smiles, bad)
		}
	}
	for i, edges := range all {
		a, b := edges.ends()
		if a == nil {
			continue
		}
		if _, target := edges.target(a, b); len(all) == 1 && target != nil {
			return f.rows(edges, fmt.Sprintf("%s:node,%s:node", a.name, b.name), a, b)
		}
		return f.edges(edges, a, b, slices.Delete(slices.Clone(all), i, i+1))
	}
	if len(all) > 1 {
		return errors.New("no table has two columns with common values, the ends of edges: give one table, or name the columns by the flags of sanflow help train")
	}
	t := all[0]
	_, target := t.target()
	var names []string
	var keys []*lookedColumn
	for _, c := range t.columns {
		if c != target && c.ids() && c.whole < c.filled && len(c.values) >= fewestKeys && c.filled >= 2*len(c.values) && !strings.ContainsAny(c.name, ",:") {
			names, keys = append(names, c.name), append(keys, c)
		}
	}
	if keys == nil {
		return fmt.Errorf("%s: no texts repeat, which would join rows, and no two columns have common values, the ends of edges: name the columns by the flags of sanflow help train", t.path)
	}
	return f.rows(t, strings.Join(names, ","), keys...)
}

// rows adds the flags for a table of rows.
func (f *fit) rows(t *lookedAt, names string, keys ...*lookedColumn) error {
	*f = append(*f, "-task", "rows")
	f.add("-rows", t.path, "a row is what a class is of")
	f.add("-key", names, "rows with equal values have to do with each other")
	_, target := t.target(keys...)
	id := t.id(target)
	if id != nil {
		f.add("-id", id.name, "no two rows have the same value")
	}
	f.time(t, append(keys, target, id)...)
	return f.learn(t, append(keys, id)...)
}

// edges adds the flags for a table of edges, with the ends a and b, and for tables of nodes and graphs.
func (f *fit) edges(t *lookedAt, a, b *lookedColumn, rest []*lookedAt) error {
	line := fit{}
	line.add("-edges", t.path, "%.0f %% of the values of %q and %q are in the other", 100*max(a.shared(b), b.shared(a)), a.name, b.name)
	line = append(line, "-source", a.name, "-target", b.name)
	line.time(t, a, b)
	task := "links"
	for _, other := range rest {
		graph := other.find(func(c *lookedColumn) bool {
			return nil != t.find(func(e *lookedColumn) bool {
				return e.name == c.name && e != a && e != b && e.ids() && e.shared(c) > 0.5
			})
		})
		id := other.find(func(c *lookedColumn) bool {
			return c != graph && c.ids() && max(a.shared(c), b.shared(c)) > 0.5 && (graph != nil || c.unique(other.rows))
		})
		_, target := other.target(id, graph)
		switch {
		case graph != nil && id == nil && graph.unique(other.rows):
			task = "graphs"
			line.add("-graph", graph.name, "the column divides the edges into graphs")
			line.add("-graphs", other.path, "a row is a graph")
			if err := line.learn(other, graph); err != nil {
				return err
			}
			continue
		case id == nil:
			return fmt.Errorf("%s: no column has the ids of the ends of %s, %q and %q", other.path, t.path, a.name, b.name)
		}
		line.add("-nodes", other.path, "a row is a node")
		line.add("-id", id.name, "%.0f %% of the ends of edges are in the column", 100*max(a.shared(id), b.shared(id)))
		if target != nil && graph == nil {
			task = "nodes"
			if err := line.learn(other, id); err != nil {
				return err
			}
		}
	}
	f.add("-task", task, "%s", map[string]string{"links": "no table has a class; which nodes will have an edge is learned", "nodes": "nodes have a class", "graphs": "graphs have a class"}[task])
	*f = append(*f, line...)
	return nil
}

// molecules adds the flags for a table of molecules, of whose SMILES bad ones cannot be read.
func (f *fit) molecules(t *lookedAt, smiles *lookedColumn, bad int) error {
	f.add("-data", t.path, "a row is a molecule")
	f.add("-smiles", smiles.name, "the texts can be read as SMILES")
	if bad > 0 {
		*f = append(*f, "-skip")
		fmt.Fprintf(os.Stderr, "guessed: -skip: %d of %d texts cannot be read as SMILES\n", bad, len(smiles.values))
	}
	id := t.id(smiles)
	if id != nil {
		f.add("-id", id.name, "no two rows have the same value")
	}
	var names []string
	var marks []*lookedColumn
	for _, c := range t.columns {
		if len(c.values) == 2 && c.values["0"] > 0 && c.values["1"] > 0 {
			names, marks = append(names, c.name), append(marks, c)
		}
	}
	if len(marks) < 2 {
		return f.learn(t, smiles, id)
	}
	f.add("-class", rowOf(names), "the columns have zeros and ones, and are learned")
	f.rank("-class", marks...)
	return nil
}

// molecules reports whether the texts are SMILES: ten of them, or all, have four characters or more, and nearly all can be read. bad is the number
// of the others.
func (c *lookedColumn) molecules() (bad int, is bool) {
	if c.numbers == c.filled || c.dates > 0 {
		return 0, false
	}
	long := 0
	for text := range c.values {
		if _, err := molecules.Parse(text); err != nil {
			if bad++; float64(bad) > unreadable*float64(len(c.values)) {
				return bad, false
			}
		} else if len(text) >= 4 {
			long++
		}
	}
	return bad, long >= min(10, len(c.values)-bad)
}
