package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// asked is what the data of a model that is asked are read by.
type asked struct {
	like      *record.Layout // nil where a model is to learn
	classes   []string
	knowledge *sinks.Known
	unseen    int              // words that the model does not have
	word      string           // one of them, and its column
	once      *sources.NodeSet // of adapted
	foreign   []int32          // nodes of a class that the model does not have
}

// tested is the rows to evaluate that the model has learned from.
type tested struct {
	leaves bool           // they are left out
	digest string         // of the rows of the model, none of which is left out
	met    map[uint64]int // those that were left out, by id
	seen   int            // those that were left out
}

// adapt gives a graph of tables the words of the model that is asked, and counts those
// that this does not have.
func (d *data) adapt(g **graph.Graph, from record.Layout) error {
	adapted, unseen, err := choose.Adapt(*g, from, *d.like)
	if err == nil {
		*g = adapted
		if d.unseen += unseen; d.unseen > 0 && d.word == "" {
			d.word = cmp.Or(unseenWord(from.NodeCat, d.like.NodeCat, record.Columns{}), unseenWord(from.EdgeCat, d.like.EdgeCat, d.Columns))
		}
	}
	return err
}

// unseenWord returns the first word of a table that a model does not have, with its column, or "".
func unseenWord(from, model []record.Channel, columns record.Columns) string {
	for _, c := range model {
		at := slices.IndexFunc(from, func(of record.Channel) bool { return of.Name == c.Name })
		if at < 0 {
			continue
		}
		for _, word := range from[at].Words {
			if !slices.Contains(c.Words, word) {
				return fmt.Sprintf("%.80q of the column %q", word, cmp.Or(columns.Role(c.Name), c.Name))
			}
		}
	}
	return ""
}

// unseenText says how many words the model does not have.
func (d *data) unseenText() string {
	text := fmt.Sprintf("%d values are words that the model does not have", d.unseen)
	if d.unseen == 1 {
		text = "1 value is a word that the model does not have"
	}
	if d.word != "" {
		text += ": " + d.word
	}
	return text
}

// adapted is set with the words and the classes of the model that is asked. It is read once.
func (d *data) adapted(ctx context.Context) (*sources.NodeSet, error) {
	if d.once != nil {
		return d.once, nil
	}
	set, err := d.set(ctx)
	if err != nil || d.like == nil || d.task != "nodes" {
		d.once = set
		return set, err
	}
	if d.attributed() {
		if err := d.adapt(&set.Graph, set.Channels); err != nil {
			return nil, err
		}
		set.Channels.NodeCat, set.Channels.EdgeCat, set.Channels.NodeAttr, set.Channels.EdgeAttr = d.like.NodeCat, d.like.EdgeCat, d.like.NodeAttr, d.like.EdgeAttr
	}
	d.bare = set.Graph
	var unknown int
	if set.Graph, unknown, err = d.knowledge.Identify(set.Graph, set.IDs); err != nil {
		return nil, err
	}
	if unknown > 0 {
		fmt.Fprintf(os.Stderr, "unknown ids: %d of %d nodes, of which the model has no knowledge of their own\n", unknown, set.Graph.N())
	}
	d.foreign = classesOf(set, d.classes)
	d.once = set
	return set, nil
}

// has reports whether the model has learned from a row, and counts it. Of equal rows as many are as the
// model has learned from.
func (d *data) has(id uint64) bool {
	if !d.leaves || d.met[id] >= d.knowledge.Learned(id) {
		return false
	}
	d.met[id]++
	d.seen++
	return true
}

// fresh returns the nodes but for those whose target is known and from which the model has learned.
func (d *data) fresh(set *sources.NodeSet, nodes []int32) []int32 {
	return slices.DeleteFunc(nodes, func(v int32) bool {
		unknown := set.Value == nil && set.Class != nil && set.Class[v] < 0 || set.Value != nil && set.Value[v] != set.Value[v]
		return !unknown && d.has(sinks.NodeID(set.IDs, v))
	})
}
