// Package now answers about rows, such as payments, or about the nodes of a graph, as they are now: events add rows and edges and set classes, are kept in a
// store, and each answer is about the rows, or the graph, at one position.
//
//	p, err := sinks.Load("payments.model") // of sanflow train, or of sinks.Save
//	keys, err := choose.KeysOf(p.Net())
//	table, err := sources.OpenTable(ctx, "payments.csv", sources.Options{})
//	set, err := sources.Rows{Tables: []sources.RowTable{{Table: table, Time: "time", Class: "fraud", Keys: keys}}}.Read(ctx)
//	h, err := choose.HistoryOf(p, set, nil) // in the words of the model; later rows know all classes
//	rows, err := h.OpenRows(p, choose.RowColumns{Time: "time", Class: "fraud"})
//	l, err := now.Open(ctx, rows, now.Options{Dir: "store"})
//	position, err := l.Apply(choose.Event{Kind: choose.AddRow, Row: choose.Row{"time": 7, "source": "ann"}})
//	asked, at, err := l.Ask(ctx, position, []string{"1001"}, nil)
//	answer, err := rows.Predict(ctx, asked[0])
//
// # Events
//
// An event is a JSON object on a line:
//
//	{"kind": "add_row", "time": 7, "source": "ann", "target": "bob", "amount": 12.5}
//	{"kind": "add_row", "row": {"time": 7, "kind": "card", "source": "ann"}}    columns named kind or row
//	{"kind": "set_class", "id": "1001", "class": "yes"}                         "class": null takes it away
//
// The kind of a line without "kind" is add_row. The other names of a row are columns of the training. Ids of keys may be new, words that the training
// did not have are the reserved ones, and rows may come late: an answer depends on the times of rows, and for one time on the order of their events, not on
// when they came. A column of ids, if the training has one, must have an id that no row has; else a row has the next number of its table.
//
// Of a graph, a choose.OpenNodes, the kinds are add_edge, the default, remove_edge, set_edge, add_row, set_node, remove_node and set_class:
//
//	{"source": "ann", "target": "bob", "type": "card", "weight": 12.5}
//	{"kind": "remove_edge", "source": "ann", "target": "bob"}          the oldest row of the edge
//	{"kind": "set_edge", "source": "ann", "target": "bob", "weight": 3}  of all its rows
//	{"kind": "add_row", "id": "eve", "age": 40}                        a row of the table of nodes, refused if eve has one
//	{"kind": "set_node", "id": "eve", "age": 41}                       in place of the row, or a new one
//	{"kind": "remove_node", "id": "eve"}                               its edges, its row and its class
//
// A node is there while it has a row or an edge. Removals of what is not there have a position and change nothing. With tables of several spaces of ids, a row
// of a node has "table", the space. Rows of edges with the same ends are what they are in tables: see sources.EdgeTable.Repeated.
//
// A class that an event brings is known to rows that come History.Delay after the time of its row, as in the training: the delay is that of the model (train
// -label-delay), whenever the event comes. With h.Delay = 0 (serve -label-delay 0s) it is known from the event on.
//
// # Positions
//
// Each accepted event has the next position, from 1. Apply accepts all its events or none, and returns the position of the last. Ask waits for a position, and makes
// all its questions at one position, under a lock that lasts as long as their pasts are copied; the model is asked without a lock. An answer has the bytes of a cold start: of a
// model opened for tables that end with the rows of the store.
//
// # Store
//
// Dir has a file of go.etcd.io/bbolt with the rows and the classes that events have set, and the position, all of one transaction
// for each batch. Without Learn each event changes the rows and classes in place, so there is no log apart to be cut. An accepted event is written
// to the file before Apply returns, and lost by no end of the process; with Sync also by no loss of power. Without it a loss of power may cost the store.
// Open applies the rows and classes of the store to the rows of the tables. The tables and the window of edges must be those
// with which the store began.
// A store is open in one process at a time. Of a graph it has the rows of edges that are left, the last row and class of each node, and what removes
// rows of the tables; an event that is undone goes with what undoes it, in a transaction behind.
//
// # Learning
//
// With Options.Learn the model learns from class events: set_class, and add_row with a class. Each tests the model first: the question of the row is cut at the
// position of the event, with all that is known of the rows before the row and nothing of its class, the model answers, the answer is scored beside that of the model as it was loaded and
// beside the shares of the classes so far, and then the model takes one step. A class that comes later than its row is an event like others; a model that was
// trained with a delay of classes is asked what it could have known at the row. An event that takes a class away, or sets the one that the row has, teaches nothing; of a node each class that is told teaches.
//
// A model that learns is an nn.Model, such as nn.Best; trees do not learn in steps. What is learned depends on the accepted events alone, in the order of their positions. The model that
// answers is replaced after each 256 class events. After each 4 096, and at least after 65 536 events of all kinds, a checkpoint keeps the model, the scores and the position
// in one transaction. Events behind it are in a log, in which a start learns again from each at its position, to the same bytes; those before it are folded into rows and classes, 4 096
// in a transaction. A checkpoint has the weights and the state of the optimizer, 21 MB of an nn.Best for two classes, packed by zstd: words that no row has
// are zeros, so the store of a small table with two checkpoints has 1 MB in place of 60. If the store has no room for a checkpoint, Note is told; events are accepted if they fit, and a
// start learns again from the checkpoint before. In BenchmarkLearn a class event costs 0.11 ms of
// processor time more than without Learn, and a checkpoint 0.08 s, in which events wait and answers do not.
//
// A model file that has changed, met by Use or Open, takes the place of what was learned at the position of the store, and learning goes on from it: Learned.Loaded.
// Alarms are those of drift.ADWIN about wrong answers.
//
// Refused lines of Read, Follow and Consume go to refused.jsonl in Dir, with reasons, up to 64 MiB in two files: before the transaction of
// the lines, so a process that is killed between the two writes them again.
//
// # Cost
//
// BenchmarkAsk of sinks/choose has rows with four key columns, a number and two classes: a row of the tables takes 377 bytes
// of memory of 50 000 rows and 312 of 1 000 000, and a row that is added 530 and 1 411, what is known by key among them. An added row takes 11 and 14 µs of processor time, a question about a row, with
// trees, 53 and 54 µs. The store has the bytes of an event as JSON.
//
// BenchmarkAskNodes has a graph of preferential attachment with 8 edges a node, a word and a number of each edge, and a number of each node. Of 100 000 and of
// 1 000 000 nodes a question about a node, with words up to two hops, takes 0.8 and 1.1 ms on a loaded processor, an added edge 8 µs; the graph of 1 000 000 nodes and 8 000 000
// edges takes 300 MB, is opened in a second, and an edge that is added 70 bytes. With a window all edges have those bytes.
// Memory grows with the rows: no window drops rows yet.
package now
