package command

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/record"
)

var tasks = []string{"graphs", "nodes", "links", "rows"}

func (d *data) flags(f *flag.FlagSet, task string) {
	f.StringVar(&d.task, "task", "", "what the model classifies or predicts: graphs, nodes, links, or rows of a table; "+task)
	f.StringVar(&d.data, "data", "", "data by name or path, generated ones where neither this nor -edges is set: graphs of a TU collection, .g6, .dot, .arrow or .parquet files, or node-link JSON, .jsonl or .json, with -class KEY, or molecules, a table with -smiles, .sdf or .smi, with -class or -value; of nodes or links one graph of node-link JSON, a zip or directory with edges.txt, labels.txt and maybe features.txt and split.txt, or an edge list")
	f.StringVar(&d.SMILES, "smiles", "", "column with SMILES, of a table -data FILE.csv or .tsv, maybe packed: each row is a molecule")
	f.StringVar(&d.edges, "edges", "", "in place of -data, a table of edges: .csv, .tsv, .jsonl, .json or .parquet, maybe packed by gzip or zstd")
	f.StringVar(&d.Source, "source", "source", "column of -edges: the first node")
	f.StringVar(&d.Target, "target", "target", "column of -edges: the second node")
	f.StringVar(&d.Graph, "graph", "", "column of all tables: the graph, where there are many; of explain with -data the number of a graph, from 0")
	f.StringVar(&d.nodes, "nodes", "", "a table of nodes, whose columns are attributes, or one of each space of ids or of -key, as user_id=users.csv,item_id=items.csv; with -graph, -class and -value are those of graphs, and its rows are nodes only where -id or -graphs is given")
	f.StringVar(&d.targetsOf, "graphs", "", "with -graph, a table of graphs with the columns -graph and -class or -value, where -nodes does not have these")
	f.StringVar(&d.Type, "type", "", "column of -edges: the type of the edge")
	f.StringVar(&d.Weight, "weight", "", "column of -edges: the weight, an attribute of the edge")
	f.StringVar(&d.Time, "time", "", "column of -edges: time of the edge, an attribute of the edge; of -rows: time of the row, a number or a date")
	f.StringVar(&d.before, "before", "", "with -edges, the time of a question, as -time has it: edges of that time or later, and of unknown time, are left out")
	f.StringVar(&d.Repeated, "repeated", "", "what rows of -edges with the same ends become: count, sum, mean, min and max, attributes of the edge, with commas; first or last by -time, the row that is kept; error; none, the smallest row is kept; by default count,sum where rows repeat")
	f.StringVar(&d.ID, "id", "id", "column of -nodes: the id of the node; of -rows the id of the row, where it is not given the number of the row, from 1; of molecules a column of -data, where there is no column id the number of the row, or a data item of an SD file, by default the titles, where all molecules have one; -id '' gives numbers")
	f.StringVar(&d.Class, "class", "", "column of -nodes or -rows: the class of a node or a row; empty means unknown; of molecules a column of -data, or a data item of an SD file; several with commas are several targets of one model, not of -rows, and a name with a comma stands in double quotes, as '\"a,b\",c'; of explain the class to explain")
	f.StringVar(&d.Value, "value", "", "in place of -class, the number to learn, or several")
	f.StringVar(&d.Ignore, "ignore", "", "comma-separated columns not to read as attributes; by default each column that no flag names is an attribute")
	f.StringVar(&d.Missing, "missing", "", "comma-separated texts that stand for no value in tables, molecules and node-link JSON, as NA,NULL; an empty value and a null always do")
	f.StringVar(&d.Types, "types", "", "types of columns, COLUMN=string, integer or float, with commas; by default they are inferred from the first 16 384 rows")
	f.StringVar(&d.Part, "part", "", "column of -nodes or -rows, of graphs of tables that of -class or -value, of molecules a column of -data or a data item: train, valid or test; none or nothing is in no part; of -rows also time:LEARN,CHOOSE, the shares of the first rows to learn from and of the next to choose by; the default where rows have times is "+defaultTimePart)
	f.StringVar(&d.Spaces, "spaces", "", "two: equal ids of -source and -target are different nodes, SOURCE:ID and TARGET:ID; one: they are one node; by default two where the header tells, as user_id,item_id or :START_ID(Person)")
	f.Func("separator", "what separates the values of tables .csv and .tsv: one character, or tab; by default the one of , ; tab | that the first row has most of", func(text string) error {
		if text = strings.NewReplacer("tab", "\t", `\t`, "\t").Replace(text); len(text) != 1 {
			return fmt.Errorf("%q, want one character, or tab", text)
		}
		d.separator = text[0]
		return nil
	})
	f.BoolVar(&d.skip, "skip", false, "leave out molecules that cannot be read, and report them on standard error; without it the first is an error")
	f.BoolVar(&d.Directed, "directed", false, "edges lead from source to target, and a node sees those that leave it alone; without it edges have no direction, and both ends see them")
	cli.Workers(f, &d.workers)
	d.rowFlags(f)
}

// check checks the flags as far as possible without the files. The default task is that of a loaded model.
func (d *data) check(f *flag.FlagSet, model string) error {
	if d.task == "" {
		if d.task = model; model == "" {
			d.task = "graphs"
			switch {
			case d.rowTables != "":
				d.task = "rows"
			case d.edges != "" && d.Graph == "":
				d.task = "nodes"
			}
		}
	}
	tables := []string{"source", "target", "graph", "type", "weight", "time", "before", "repeated", "nodes", "graphs", "id", "class", "value", "ignore", "missing", "part", "types", "spaces"}
	given := cli.Given(f)
	names, err := d.learned()
	if err != nil && !d.explains {
		return cli.Usage(fmt.Errorf("-class or -value: %w", err))
	}
	if model != "" && d.Class != "" && d.Value != "" && !d.explains { // one is of the model, or both are flags, which is an error below
		switch isClass, isValue := slices.Contains(given, "class"), slices.Contains(given, "value"); {
		case isClass && !isValue:
			return cli.Usage(fmt.Errorf("the model has learned a number, -value %s: leave out -class", d.Value))
		case isValue && !isClass:
			return cli.Usage(fmt.Errorf("the model has learned classes, -class %s: leave out -value", d.Class))
		}
	}
	several := len(names) > 1 && !d.explains
	if d.like != nil && !d.explains && slices.ContainsFunc(given, func(name string) bool { return name == "class" || name == "value" }) && (several || len(d.goals) > 0) &&
		!slices.EqualFunc(names, d.goals, func(name string, t record.TargetChannel) bool { return name == t.Name }) {
		return cli.Usage(fmt.Errorf("-class or -value names %q, and the model has %d targets: leave it out, or name these, as inspect prints them", names, max(1, len(d.goals))))
	}
	switch {
	case !slices.Contains(tasks, d.task):
		return cli.Usage(fmt.Errorf("-task is %q, want %s", d.task, strings.Join(tasks, ", ")))
	case model != "" && d.task != model:
		return cli.Usage(fmt.Errorf("-task is %s, the model is for %s", d.task, model))
	case (d.task == "rows") != (d.rowTables != ""):
		return cli.Usage(errors.New("-task rows and -rows, the table of the rows, go together"))
	case d.data != "" && d.edges != "":
		return cli.Usage(errors.New("-data and -edges are both set, want one"))
	case d.Class != "" && d.Value != "" && !d.explains: // of explain -class is the class to explain
		return cli.Usage(errors.New("-class and -value are both set, want one"))
	case several && (d.task == "links" || !d.molecules() && d.edges == ""):
		return cli.Usage(errors.New("-class and -value name several columns of molecules or of the tables of -edges alone"))
	case d.Value != "" && d.task == "links":
		return cli.Usage(errors.New("-value is a number to learn of graphs or nodes; links have two classes"))
	case slices.Contains(given, "smiles") && !d.inTable():
		return cli.Usage(errors.New("-smiles names a column of a table of molecules, -data FILE.csv or .tsv"))
	case d.task != "graphs" && d.molecules():
		return cli.Usage(fmt.Errorf("-task %s is about one graph, and molecules are many", d.task))
	case d.task == "rows":
		return d.checkRows(given)
	case d.skip && !d.molecules():
		return cli.Usage(errors.New("-skip is for molecules: a table -data with -smiles, or an SD file"))
	case d.task == "graphs" && d.edges != "" && d.Graph == "":
		return cli.Usage(errors.New("-task graphs wants -graph, the column of the graph"))
	case d.task != "graphs" && d.Graph != "":
		return cli.Usage(fmt.Errorf("-task %s is about one graph, and -graph is a column of many", d.task))
	case d.targetsOf != "" && d.Graph == "":
		return cli.Usage(errors.New("-graphs wants -graph, the column of the graph"))
	case slices.ContainsFunc(given, ofRows):
		return cli.Usage(fmt.Errorf("-%s is for -rows", given[slices.IndexFunc(given, ofRows)]))
	case d.before != "" && d.Time == "":
		return cli.Usage(errors.New("-before wants -time, the column of the time of an edge"))
	case d.edges != "":
		d.HasID = d.HasID || slices.Contains(given, "id") || d.targetsOf != ""
		return d.roles()
	case d.molecules():
		d.HasID = d.HasID || slices.Contains(given, "id")
		tables = slices.DeleteFunc(tables, func(name string) bool {
			return slices.Contains([]string{"class", "value", "id", "part", "missing"}, name)
		})
	}
	for _, name := range tables {
		if slices.Contains(given, name) && (!slices.Contains([]string{"class", "ignore", "missing"}, name) || d.format() != "nodelink") && !(d.explains && (name == "class" || name == "graph")) {
			hint := ""
			if d.inTable() {
				hint = "; of molecules -smiles names the column"
			} else if name == "class" && d.data != "" {
				hint = "; -data has its own classes, or none, but for node-link JSON and molecules"
			}
			return cli.Usage(fmt.Errorf("-%s names a column of a table, and there is no -edges%s", name, hint))
		}
	}
	return nil
}

// ofRows reports whether a flag is for -task rows alone.
func ofRows(flag string) bool {
	return slices.Contains([]string{"key", "windows", "label-delay", "labels", "future"}, flag)
}

// roles returns an error for a column that two flags name in one table of -edges, -nodes or -graphs.
func (d *data) roles() error {
	target := "nodes"
	if d.targetsOf != "" {
		target = "graphs"
	}
	all := [][3]string{
		{"edges", "source", d.Source}, {"edges", "target", d.Target}, {"edges", "graph", d.Graph}, {"edges", "type", d.Type}, {"edges", "weight", d.Weight}, {"edges", "time", d.Time},
		{"nodes", "graph", d.Graph}, {"graphs", "graph", d.Graph}, {target, "part", d.Part},
	}
	if d.Graph == "" || d.HasID {
		all = append(all, [3]string{"nodes", "id", d.ID})
	}
	if names, err := d.learned(); err == nil {
		for _, name := range names {
			all = append(all, [3]string{target, map[bool]string{false: "class", true: "value"}[d.Value != ""], name})
		}
	}
	return oneRole(all)
}

// oneRole returns an error for a column that two flags name in one table. A role is a table, a flag and its column, or "".
func oneRole(roles [][3]string) error {
	use := map[[2]string]string{}
	for _, r := range roles {
		table, flag, column := r[0], r[1], r[2]
		at := [2]string{table, column}
		if other := use[at]; other != "" && column != "" {
			return cli.Usage(fmt.Errorf("-%s and -%s both name the column %q of -%s", other, flag, column, table))
		}
		use[at] = flag
	}
	return nil
}
