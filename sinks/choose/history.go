package choose

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/earlier"
	"github.com/sanflow/sanflow/operators/past"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// History is the rows of tables, such as payments, with what is known of the rows before each one: a row has numbers by
// name (package earlier) and a graph of its past (package past). Neither depends on later rows or on the class of the row. With
//
//	set, err := sources.Rows{…}.Read(ctx)
//	_, err = set.SplitTime(0.6, 0.15)
//	train, valid := set.Subset(sources.Train), set.Subset(sources.Val)
//	h := &choose.History{Set: set, Train: train}
//
// h.Systems() and h.Rows(train), h.Rows(valid) are those of a Choice. Keep writes the settings to the model, [HistoryOf] reads them,
// and OpenRows answers about rows, also about rows that are in no table yet. A History does not change once it is used.
type History struct {
	Set *sources.RowSet
	// Train are the rows whose classes later rows know: those to learn from. nil: the rows before know the classes of all, as in
	// operation.
	Train []int32
	// Class is the name of the class in the names of numbers. The default is class.
	Class string
	// Windows are times before a row whose rows are counted apart, beside all rows before it.
	Windows []earlier.Window
	// Delay is the time from a row until its class is known, in the unit of the times of Set.
	Delay float64
	// Future lets rows see the rows after them too, and their classes if these are known.
	Future bool

	once, replays sync.Once
	err           error
	own           []ownColumn
	names         []string // names of the numbers of a row
	first         []int32  // by key column: first node of its space
	rows          earlier.Rows
	pairs         [][2]int    // pairs of key columns that form a key too
	asked         bool        // made by HistoryOf, with the pairs of the model and without cuts
	cuts          []int       // cuts of the replay; see earlier.Cuts
	seen          [][]float32 // numbers of rows from earlier rows, and, in reverse order of rows, from later rows
}

// ownColumn is a number of a row that does not depend on other rows: a number of the row or of one of its keys, whether a
// column has a word, or whether a key has an id.
type ownColumn struct {
	Name    string `json:"name"`
	Channel string `json:"channel"`
	Word    string `json:"word,omitempty"`
	IsWord  bool   `json:"is_word,omitempty"`
	ID      string `json:"id,omitempty"` // id of the key, replaces Channel
	Key     int    `json:"key"`          // key column, -1 = the row

	at   int   // index of the channel in the set
	word int32 // index of the word, or node of ID
}

// A row has a number for each of the mostOwnWords most frequent words of a column that at least fewestRows training rows have.
const (
	mostOwnWords = 32
	fewestRows   = 20
)

// historyNote is the metadata key of the settings of a History.
const historyNote = "history"

const historyVersion = 1

type historyJSON struct {
	Version int              `json:"version"`
	Keys    []sources.Key    `json:"keys"`
	Class   string           `json:"class,omitempty"`
	Windows []earlier.Window `json:"windows,omitempty"`
	Delay   float64          `json:"delay,omitempty"`
	Future  bool             `json:"future,omitempty"`
	All     bool             `json:"all,omitempty"` // Train is nil
	Pairs   [][2]int         `json:"pairs,omitempty"`
	Own     []ownColumn      `json:"own"`
	Timed   bool             `json:"timed,omitempty"` // a row has a time; false in files of before 0.2 too
}

// isTimed reports whether a row of a set has a time.
func isTimed(set *sources.RowSet) bool {
	return slices.ContainsFunc(set.Time, func(t float64) bool { return !math.IsNaN(t) })
}

// Keep writes the settings to a model that has learned from the rows, and the ids of the rows that it has learned from or was
// chosen by: Train, and the training and validation parts of Set. Where the parts are others, keep a sinks.KnownRows after it.
func (h *History) Keep(m nn.Saver) error {
	if err := h.prepare(); err != nil {
		return err
	}
	rows := slices.Concat(h.Train, h.Set.Subset(sources.Train), h.Set.Subset(sources.Val))
	slices.Sort(rows)
	var ids []uint64
	for _, r := range slices.Compact(rows) {
		ids = append(ids, sinks.NodeID(h.Set.IDs, r))
	}
	if err := sinks.KnownRows(ids).Keep(m); err != nil {
		return err
	}
	text, err := json.Marshal(historyJSON{historyVersion, h.Set.Keys, h.Class, h.Windows, h.Delay, h.Future, h.Train == nil, h.pairs, h.own, isTimed(h.Set)})
	m.Metadata()[historyNote] = string(text)
	return err
}

// noteOf reads the settings of the History that a model has learned from.
func noteOf(m nn.Predictor) (note historyJSON, err error) {
	text := nn.MetadataOf(m)[historyNote]
	if err = json.Unmarshal([]byte(text), &note); text == "" {
		err = errors.New("choose: the model is not for rows of tables: History.Keep writes the settings to it")
	} else if err != nil {
		err = fmt.Errorf("choose: history of the model: %w", err)
	} else if note.Version != historyVersion {
		err = fmt.Errorf("choose: the history of the model has version %d, want %d: train the model again", note.Version, historyVersion)
	}
	return note, err
}

// KeysOf returns the keys of the rows that a model has learned from, for the tables of sources.Rows.
func KeysOf(m nn.Predictor) ([]sources.Key, error) {
	note, err := noteOf(m)
	return note.Keys, err
}

// HistoryOf returns the rows of another set for a model, with the settings of the training. The set is that of tables with the same
// keys and columns; it is not changed, and the History has a copy by AdaptRows, which leaves the
// class of a row unknown where the model does not have it. It is an error if the model has none of the classes, or has learned with times and no row has one. train are the rows whose classes later rows know; nil: the rows before know the classes of all,
// as they do where the model has learned so.
func HistoryOf(p *sinks.Predictor, set *sources.RowSet, train []int32) (*History, error) {
	note, err := noteOf(p.Net())
	if err != nil {
		return nil, err
	}
	if !slices.Equal(set.Keys, note.Keys) {
		return nil, fmt.Errorf("choose: the rows have the keys %s, and the model wants %s", keyNames(set.Keys), keyNames(note.Keys))
	}
	of := *set
	if note.Timed && set.Rows > 0 && !isTimed(set) {
		return nil, errors.New("choose: no row has a time, and the model has learned from rows with times: RowTable.Time names the column")
	}
	_, foreign, err := AdaptRows(p, &of)
	if err != nil {
		return nil, err
	}
	if known := len(foreign); known > 0 && !slices.ContainsFunc(of.Class, func(c int32) bool { return c >= 0 }) {
		return nil, fmt.Errorf("choose: the model has none of the classes of %d rows: it has %q, and the rows have %q", known, p.Classes(), set.Classes)
	}
	h := &History{Set: &of, Class: note.Class, Windows: note.Windows, Delay: note.Delay, Future: note.Future, pairs: note.Pairs, own: note.Own, asked: true}
	if !note.All {
		h.Train = slices.Clone(train)
	}
	return h, nil
}

// AdaptRows makes a set that of a model: its attributes are those of the model, as of Adapt, and its classes too, as of AdaptClasses. It returns how
// many words the model does not have, and the rows whose class it does not have.
func AdaptRows(p *sinks.Predictor, set *sources.RowSet) (unseen int, foreign []int32, err error) {
	l := RowLayout(p.Layout())
	of := func(has, want []record.Channel) (n int) { // of returns how many channels of want are in has, by name
		names := channelNames(has)
		for _, c := range want {
			if slices.Contains(names, c.Name) {
				n++
			}
		}
		return n
	}
	words, numbers := of(set.Channels.NodeCat[1:][:set.Words], l.NodeCat[1:]), of(set.Channels.NodeAttr[:set.Numbers], l.NodeAttr)
	if set.Graph, unseen, err = Adapt(set.Graph, set.Channels, l); err != nil {
		return 0, nil, err
	}
	set.Words, set.Numbers = words, numbers
	set.Channels.NodeCat, set.Channels.EdgeCat, set.Channels.NodeAttr, set.Channels.EdgeAttr = l.NodeCat, l.EdgeCat, l.NodeAttr, l.EdgeAttr
	return unseen, AdaptClasses(&set.NodeSet, p.Classes()), nil
}

func keyNames(keys []sources.Key) string {
	var names []string
	for _, k := range keys {
		names = append(names, k.Column+":"+k.Space)
	}
	return strings.Join(names, ",")
}

// Columns returns the names of the numbers of a row.
func (h *History) Columns() ([]string, error) {
	err := h.prepare()
	return h.names, err
}

// prepare computes the columns and their data, once.
func (h *History) prepare() error {
	h.once.Do(func() { h.err = h.settle() })
	return h.err
}

// known returns the class of each row that other rows may read, else -1.
func (h *History) known() []int32 {
	if h.Set.Value() != nil {
		return slices.Repeat([]int32{-1}, h.Set.Rows)
	}
	if h.Train == nil {
		return h.Set.Class[:h.Set.Rows]
	}
	known := slices.Repeat([]int32{-1}, h.Set.Rows)
	for _, r := range h.Train {
		known[r] = h.Set.Class[r]
	}
	return known
}

// settings returns the settings for numbers from earlier rows, or from later rows.
func (h *History) settings(later bool) earlier.Settings {
	s := earlier.Settings{Class: cmp.Or(h.Class, "class"), Classes: h.Set.Classes, Windows: h.Windows, Delay: h.Delay, Pairs: h.pairs, Later: later}
	for _, k := range h.Set.Keys {
		s.Keys, s.Spaces = append(s.Keys, k.Column), append(s.Spaces, k.Space)
	}
	for _, c := range h.Set.Channels.NodeAttr[:h.Set.Numbers] {
		s.Numbers = append(s.Numbers, c.Name)
	}
	return s
}

func (h *History) settle() error {
	h.Windows = slices.Clone(h.Windows) // their order does not matter
	slices.SortFunc(h.Windows, func(a, b earlier.Window) int {
		return cmp.Or(cmp.Compare(a.Length, b.Length), cmp.Compare(a.Name, b.Name))
	})
	set := h.Set
	if h.own == nil {
		h.own = h.ownColumns()
	}
	if err := h.findChannels(); err != nil {
		return err
	}
	k, n := len(set.Keys), set.Numbers
	h.first = firstKeys(set)
	h.rows = earlier.Rows{Time: set.Time, Keys: make([]int32, set.Rows*k), Numbers: make([]float32, set.Rows*n), Class: h.known()}
	for r := range set.Rows {
		h.numbers(set.Graph, int32(r), set.RowKeys[r*k:][:k], h.rows.Keys[r*k:][:k], h.rows.Numbers[r*n:][:n])
	}
	if !h.asked {
		learned := h.rows // up to the last row to learn from
		if h.Train != nil {
			m := int(slices.Max(append(h.Train, 0))) + 1
			learned.Time, learned.Keys = learned.Time[:m], learned.Keys[:m*k]
		}
		h.pairs = earlier.ChoosePairs(learned, k)
		h.cuts = h.trainingCuts()
	}
	for _, c := range h.own {
		h.names = append(h.names, c.Name)
	}
	states, err := h.states(false)
	for _, state := range states {
		h.names = append(h.names, state.Columns()...)
	}
	return err
}

// states returns the states of earlier rows and, with Future, of later rows: empty, or with all rows.
func (h *History) states(all bool) (states []*earlier.State, err error) {
	for _, later := range []bool{false, true} {
		if later && !h.Future {
			break
		}
		state, err := earlier.New(h.settings(later))
		if err != nil {
			return nil, err
		}
		states = append(states, state)
		rows := h.rows
		if !all {
			continue
		}
		if later {
			rows = rows.Reversed()
		}
		for r := range rows.Time {
			row := rows.Row(r)
			state.Add(&row)
		}
	}
	return states, nil
}

// replay computes the numbers of all rows from other rows.
func (h *History) replay() {
	states, _ := h.states(false) // no error: settle has checked the settings
	h.seen = [][]float32{states[0].Replay(h.rows, h.cuts)}
	if h.Future {
		h.seen = append(h.seen, states[1].Replay(h.rows.Reversed(), nil))
	}
}

// values sets dst to the numbers of a row of the set. prepare must have succeeded.
func (h *History) values(r int32, dst []float32) {
	h.replays.Do(h.replay)
	k := len(h.Set.Keys)
	ownValues(h.own, h.Set.Graph, nil, h.Set.Graph, int(r), h.Set.RowKeys[int(r)*k:][:k], dst)
	at := len(h.own)
	for i, part := range h.seen {
		of, from := len(part)/h.Set.Rows, int(r)
		if i == 1 { // numbers from later rows are in reverse order of rows
			from = h.Set.Rows - 1 - from
		}
		at += copy(dst[at:], part[from*of:][:of])
	}
}

// trainingCuts returns the cuts of the replay of the training rows. With them, the classes that training rows read are as old as for validation
// and test rows.
func (h *History) trainingCuts() []int {
	if h.Train == nil || h.Future {
		return nil
	}
	var answer []int32
	for _, part := range []sources.Subset{sources.Val, sources.Test} {
		answer = append(answer, h.Set.Subset(part)...)
	}
	return earlier.Cuts(slices.Sorted(slices.Values(h.Train)), answer)
}

// firstKeys returns the first node of the space of each key column. The nodes of a space are in a row.
func firstKeys(set *sources.RowSet) (first []int32) {
	g, from := set.Graph, map[int32]int32{}
	for v := g.N() - 1; v >= set.Rows; v-- {
		from[g.NodeCat[v*g.NodeCats]] = int32(v)
	}
	for _, k := range set.Keys {
		first = append(first, from[set.Channels.NodeCat[0].Index(k.Space)])
	}
	return first
}

// numbers sets the keys and the numbers of a row, a node of g, in the form of package earlier. A node behind its space is a new key.
func (h *History) numbers(g *graph.Graph, row int32, nodes, keys []int32, numbers []float32) {
	for j, v := range nodes {
		if keys[j] = -1; v >= 0 {
			keys[j] = v - h.first[j]
		}
	}
	copy(numbers, g.NodeAttr[int(row)*g.NodeAttrs:])
}

// ownColumns chooses the own columns from the training rows.
func (h *History) ownColumns() (own []ownColumn) {
	set, l := h.Set, h.Set.Channels
	rows := h.Train
	if rows == nil {
		for r := range int32(set.Rows) {
			rows = append(rows, r)
		}
	}
	number := func(c record.Channel, name string, key int) {
		own = append(own, ownColumn{Name: name, Channel: c.Name, Key: key})
	}
	words := func(at int, name string, key int) {
		c := l.NodeCat[at]
		count := make([]int, c.Card)
		for _, r := range rows {
			if v := h.nodeOf(r, key); v >= 0 {
				count[set.Graph.NodeCat[int(v)*set.Graph.NodeCats+at]]++
			}
		}
		all := make([]int32, len(c.Words))
		for w := range all {
			all[w] = int32(w)
		}
		for _, w := range frequentOf(all, func(w int32) int { return count[w] }, len(rows)) {
			own = append(own, ownColumn{Name: name + "=" + c.Words[w], Channel: c.Name, Word: c.Words[w], IsWord: true, Key: key})
		}
	}
	for _, c := range l.NodeAttr[:set.Numbers] {
		number(c, c.Name, -1)
	}
	words(0, "table", -1) // adds nothing for a single table, which all rows have
	for at := 1; at <= set.Words; at++ {
		words(at, l.NodeCat[at].Name, -1)
	}
	for j, k := range set.Keys {
		count := map[int32]int{}
		for _, r := range rows {
			if v := h.nodeOf(r, j); v >= 0 {
				count[v]++
			}
		}
		for _, v := range frequentOf(slices.Sorted(maps.Keys(count)), func(v int32) int { return count[v] }, len(rows)) {
			id := set.IDs.Name(v)
			own = append(own, ownColumn{Name: k.Column + "=" + id[len(k.Space)+1:], ID: id, Key: j})
		}
		for _, c := range l.NodeAttr[set.Numbers:] {
			if name, ok := strings.CutPrefix(c.Name, k.Space+": "); ok {
				number(c, k.Column+": "+name, j)
			}
		}
		for at := 1 + set.Words; at < len(l.NodeCat); at++ {
			if name, ok := strings.CutPrefix(l.NodeCat[at].Name, k.Space+": "); ok {
				words(at, k.Column+": "+name, j)
			}
		}
	}
	return own
}

// frequentOf returns up to mostOwnWords values that at least fewestRows, but not all rows have, the most frequent first.
func frequentOf(all []int32, count func(int32) int, rows int) []int32 {
	some := slices.DeleteFunc(all, func(x int32) bool { return count(x) < fewestRows || count(x) == rows })
	slices.SortStableFunc(some, func(a, b int32) int { return cmp.Compare(count(b), count(a)) })
	return some[:min(mostOwnWords, len(some))]
}

// nodeOf returns the row, or the node of one of its keys, or -1 for a missing key.
func (h *History) nodeOf(row int32, key int) int32 {
	if key < 0 {
		return row
	}
	return h.Set.RowKeys[int(row)*len(h.Set.Keys)+key]
}

// findChannels sets at and word of the own columns by the names in the set. A missing column is an error.
func (h *History) findChannels() error {
	named := func(channels []record.Channel, name string) (int, error) {
		at := slices.IndexFunc(channels, func(c record.Channel) bool { return c.Name == name })
		if at < 0 {
			return 0, fmt.Errorf("choose: the rows have no column %q, which the model reads", name)
		}
		return at, nil
	}
	nodes := map[string]int32{}
	for i := range h.own {
		if id := h.own[i].ID; id != "" {
			nodes[id] = -2 // no node has the id; -1 would equal a missing key
		}
	}
	for v := int32(h.Set.Rows); int(v) < h.Set.Graph.N() && len(nodes) > 0; v++ {
		if id := h.Set.IDs.Name(v); nodes[id] != 0 {
			nodes[id] = v
		}
	}
	for i := range h.own {
		c := &h.own[i]
		if c.ID != "" {
			c.word = nodes[c.ID]
			continue
		}
		var err error
		if !c.IsWord {
			if c.at, err = named(h.Set.Channels.NodeAttr, c.Channel); err != nil {
				return err
			}
			continue
		}
		if c.at, err = named(h.Set.Channels.NodeCat, c.Channel); err != nil {
			return err
		}
		c.word = -1
		of := h.Set.Channels.NodeCat[c.at]
		if w := of.Index(c.Word); w != of.Unseen() {
			c.word = w
		}
	}
	return nil
}

// ownValues sets dst to the own numbers of a row, a node of the graph of. keys are nodes of g or, with numbers from g.N(), of tail, or -1.
func ownValues(own []ownColumn, g, tail, of *graph.Graph, row int, keys []int32, dst []float32) {
	for i, c := range own {
		in, v := of, row
		if c.Key >= 0 {
			in, v = g, int(keys[c.Key])
		}
		if c.ID != "" {
			dst[i] = 0
			if v == int(c.word) {
				dst[i] = 1
			}
			continue
		}
		if n := in.N(); c.Key >= 0 && tail != nil && v >= n {
			in, v = tail, v-n
		}
		switch {
		case v < 0:
			dst[i] = float32(math.NaN())
		case !c.IsWord:
			dst[i] = in.NodeAttr[v*in.NodeAttrs+c.at]
		case in.NodeCat[v*in.NodeCats+c.at] == c.word:
			dst[i] = 1
		default:
			dst[i] = 0
		}
	}
}

// The past of a row has its keys and, for each key, the latest pastBound earlier rows. For receptive fields it has
// pastOfField rows for each key.
const (
	pastHops    = 2
	pastBound   = 24
	pastOfField = 8
	pastNodes   = 128
)

// past returns the Cutter and the rows for the graph of the past of a row.
func (h *History) past(r operators.Recipe) (*past.Cutter, *past.Rows) {
	bound := pastBound
	if _, fields := operators.Find[operators.Assemble](r); fields {
		bound = pastOfField
	}
	s := past.Settings{Hops: pastHops, Bound: bound, Nodes: pastNodes, Delay: h.Delay, Future: h.Future}
	rows := &past.Rows{Graph: h.Set.Graph, N: h.Set.Rows, Timed: h.Set.Known(), Time: h.Set.Time, Cuts: h.cuts}
	if h.Set.Value() == nil {
		s.Classes, rows.Class = h.Set.Classes, h.rows.Class
	}
	return &past.Cutter{Settings: s}, rows
}

// layout returns the layout of the graph of a row alone, or of its past.
func (h *History) layout(ofPast bool) record.Layout {
	l := h.Set.Rooted(nil).Layout
	if ofPast {
		cut, _ := h.past(nil)
		l = cut.Layout(l)
	}
	return l
}

// RowLayout returns the layout of the tables that a model of rows has learned from: that of its recipe without what the past adds.
func RowLayout(l record.Layout) record.Layout {
	added := func(c record.Channel) bool {
		return slices.Contains([]string{past.KnownClass, past.TimeBefore, past.Turn}, c.Name)
	}
	l.EdgeCat = slices.DeleteFunc(slices.Clone(l.EdgeCat), added)
	l.NodeCat, l.NodeAttr = slices.DeleteFunc(slices.Clone(l.NodeCat), added), slices.DeleteFunc(slices.Clone(l.NodeAttr), added)
	return l
}

// readsPast reports whether a recipe reads the graph of the past of a row.
func readsPast(r operators.Recipe) bool {
	l := r.Graphs()
	return l != nil && slices.ContainsFunc(l.NodeAttr, func(c record.Channel) bool { return c.Name == past.TimeBefore })
}

// Rows returns a row for each of some rows, with its numbers, its past if the recipe reads it, and its id.
func (h *History) Rows(rows []int32) Rows {
	return func(r operators.Recipe) flow.Pipeline {
		_, numbers := operators.Find[operators.ExpectColumns](r)
		return r.Onto(flow.From(historySource{h, rows, r, readsPast(r), numbers || !readsPast(r)}))
	}
}

// historySource is a source of rows with their graphs, of the row alone or of its past, and their numbers.
type historySource struct {
	h             *History
	rows          []int32
	recipe        operators.Recipe
	past, numbers bool // whether the recipe reads the past, and numbers
}

// String returns the number of rows, for the plan of a pipeline.
func (s historySource) String() string { return fmt.Sprintf("History(%d rows)", len(s.rows)) }

func (s historySource) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	if err := s.h.prepare(); err != nil {
		return nil, err
	}
	l := s.h.layout(s.past)
	fields := []arrow.Field{record.IDsField(record.RootIDs, []int{1}, s.h.Set.IDs.Kind())}
	if s.numbers {
		fields = append(fields, record.ColumnsField(s.h.names))
	}
	schema, err := record.Extend(l.Schema(), fields...)
	cut, of := s.h.past(s.recipe)
	return &historyReader{historySource: s, mem: mem, schema: schema, build: record.NewBuilder(mem, l), of: of, cut: cut}, err
}

type historyReader struct {
	historySource
	mem    memory.Allocator
	schema *arrow.Schema
	build  *record.Builder
	of     *past.Rows
	cut    *past.Cutter
	at     int
}

// historyRows is the number of rows in a record of a History.
const historyRows = 256

func (r *historyReader) Schema() *arrow.Schema { return r.schema }

func (r *historyReader) Next(ctx context.Context) (_ arrow.Record, err error) {
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case r.at == len(r.rows):
		return nil, io.EOF
	}
	h := r.h
	set, g := h.Set, h.Set.Graph
	rows := r.rows[r.at:min(len(r.rows), r.at+historyRows)]
	ids := record.NewIDs(r.mem, set.IDs.Kind())
	defer ids.Release()
	for i, v := range rows {
		row := record.Row{ID: int64(v), Pos: int64(r.at + i)}
		if numbers := set.Value(); numbers != nil {
			row.Value = numbers[v]
		} else {
			row.Class = set.Class[v]
		}
		var one *graph.Graph
		if r.past {
			one, _, err = r.cut.Cut(r.of, v) // borrowed until the next call
		} else {
			one = alone(g, v)
		}
		if err == nil {
			err = r.build.Append(one, row)
		}
		if err != nil {
			return nil, err
		}
		ids.AppendOf(set.IDs, []int32{v})
	}
	r.at += len(rows)
	rec := r.build.Record()
	defer rec.Release()
	cols := map[string]arrow.Array{record.RootIDs: ids.Finish()}
	if r.numbers {
		n := len(h.names)
		c := record.NewFixed[float32](r.mem, n)
		dst := c.Extend(len(rows))
		for i, v := range rows {
			h.values(v, dst[i*n:][:n])
		}
		cols[record.RowColumns] = c.Finish()
	}
	return record.Project(r.schema, rec, cols)
}

func (r *historyReader) Close() error {
	r.build.Release()
	return nil
}

// alone returns a graph of node v of g without edges. It shares the attributes of g.
func alone(g *graph.Graph, v int32) *graph.Graph {
	one := &graph.Graph{Offsets: []int32{0, 0}, NodeCats: g.NodeCats, NodeAttrs: g.NodeAttrs, EdgeCats: g.EdgeCats, EdgeAttrs: g.EdgeAttrs}
	one.NodeCat = g.NodeCat[int(v)*g.NodeCats:][:g.NodeCats]
	one.NodeAttr = g.NodeAttr[int(v)*g.NodeAttrs:][:g.NodeAttrs]
	return one
}
