package now

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/sanflow/sanflow/sinks/choose"
)

// A store is a directory with these files.
const (
	storeFile   = "now.db"
	refusedFile = "refused.jsonl"
)

const storeVersion = 1

// These are the buckets of the file, and the keys of the bucket meta.
var (
	metaBucket  = []byte("meta")
	rowBucket   = []byte("rows")    // by position, big-endian: an event with its id
	nodeBucket  = []byte("nodes")   // by id of a node: the event that has set its row
	classBucket = []byte("classes") // by id of a row or a node: the class that an event has set
	readBucket  = []byte("read")    // by name of a source: the bytes of a file, or the number of the message, that are read
	metaKey     = []byte("meta")

	// These buckets and keys are those of a Live that learns. The other buckets then have the events that are no longer in the log.
	logBucket     = []byte("log") // by position, big-endian: an event with its id
	learnedBucket = []byte("learned")
	digestKey     = []byte("digest") // digest of the model that was loaded
	rateKey       = []byte("rate")
	modelKey      = []byte("model") // the checkpoint, whose note is a scoring
)

// meta describes a store: the tables and the window that it began with, and its position.
type meta struct {
	Version  int      `json:"version"`
	Tables   string   `json:"tables"`           // digest of the rows that it began with
	Window   string   `json:"window,omitempty"` // window of the graph; see choose.Form.Window
	Keys     []string `json:"keys"`             // key columns, as COLUMN and SPACE by turns
	Position int64    `json:"position"`
	Clock    int64    `json:"clock,omitempty"` // clock of the window at Position; see choose.Batch.Clock
}

// openStore opens the file of a directory, which is made if it is not there.
func openStore(dir string, sync bool) (*bbolt.DB, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("now: %w", err)
	}
	path := filepath.Join(dir, storeFile)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, NoSync: !sync, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("now: %s: another process has the store open", path)
	case err != nil:
		return nil, fmt.Errorf("now: %s: %w", path, err)
	}
	return db, nil
}

// metaOf reads the meta of a store. A new store has Version 0.
func metaOf(tx *bbolt.Tx) (m meta, err error) {
	if b := tx.Bucket(metaBucket); b != nil {
		if err = json.Unmarshal(b.Get(metaKey), &m); err == nil && m.Version != storeVersion {
			err = fmt.Errorf("the store has version %d, want %d", m.Version, storeVersion)
		}
	}
	return m, err
}

func (m meta) put(tx *bbolt.Tx) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return tx.Bucket(metaBucket).Put(metaKey, text)
}

// write calls to for each accepted event, with its position, and stores m. The last event has the position of m.
func write(tx *bbolt.Tx, m meta, changes []*choose.Change, to func(*bbolt.Tx, int64, choose.Event) error) error {
	for i, c := range changes {
		if err := to(tx, m.Position-int64(len(changes)-1-i), c.Event); err != nil {
			return err
		}
	}
	return m.put(tx)
}

// put stores the event of a position in the buckets of rows, nodes and classes.
func put(tx *bbolt.Tx, position int64, e choose.Event) error {
	switch e.Kind {
	case choose.SetClass:
		return tx.Bucket(classBucket).Put([]byte(e.ID), []byte(e.Class))
	case choose.SetNode:
		return putNode(tx, e)
	case choose.RemoveNode:
		err := tx.Bucket(classBucket).Delete([]byte(e.ID))
		if e.InTables {
			err = errors.Join(err, putNode(tx, choose.Event{Kind: choose.DropRow, ID: e.ID}))
		} else {
			err = errors.Join(err, tx.Bucket(nodeBucket).Delete([]byte(e.ID)))
		}
		if err != nil {
			return err
		}
	}
	return appendEvent(tx.Bucket(rowBucket), position, e)
}

// putNode stores an event in place of the last one about the same node.
func putNode(tx *bbolt.Tx, e choose.Event) error {
	text, err := json.Marshal(e)
	if err == nil {
		err = tx.Bucket(nodeBucket).Put([]byte(e.ID), text)
	}
	return err
}

// swept has the entries that a store no longer needs after the events up to a position.
type swept struct {
	position int64
	all      []choose.Stored
}

// sweep deletes at most foldEvents entries that the store no longer needs, and returns the others. Entries that an event of the log made unneeded stay,
// since a start applies the log again.
func sweep(tx *bbolt.Tx, pending []swept) (left []swept, err error) {
	first, log := int64(math.MaxInt64), tx.Bucket(logBucket)
	if log != nil {
		if key, _ := log.Cursor().First(); key != nil {
			first = int64(binary.BigEndian.Uint64(key))
		}
	}
	left = slices.Clone(pending)
	for n := foldEvents; len(left) > 0 && left[0].position < first && n > 0; {
		s := &left[0]
		some := s.all[:min(n, len(s.all))]
		for _, x := range some {
			switch {
			case x.Position > 0:
				err = tx.Bucket(rowBucket).Delete(binary.BigEndian.AppendUint64(nil, uint64(x.Position)))
			case log == nil:
				err = tx.Bucket(classBucket).Delete([]byte(x.ID))
			}
			if err != nil {
				return pending, err
			}
		}
		n -= len(some)
		if s.all = s.all[len(some):]; len(s.all) == 0 {
			left = left[1:]
		}
	}
	return left, nil
}

// appendEvent puts an event behind those of lower positions.
func appendEvent(to *bbolt.Bucket, position int64, e choose.Event) error {
	to.FillPercent = 1 // full pages waste no room, since keys only ascend
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return to.Put(binary.BigEndian.AppendUint64(nil, uint64(position)), text)
}

// loadBatch is how many events of a store are applied at a time.
const loadBatch = 256

// stored yields the events of a store: the rows by position, then the nodes, then the classes.
func stored(tx *bbolt.Tx) iter.Seq2[choose.Event, error] {
	return func(yield func(choose.Event, error) bool) {
		classes := tx.Bucket(classBucket)
		rows, nodes, known := tx.Bucket(rowBucket).Cursor(), tx.Bucket(nodeBucket).Cursor(), classes.Cursor()
		for key, text := rows.First(); key != nil; key, text = rows.Next() {
			e, err := decode(text)
			e.Position = int64(binary.BigEndian.Uint64(key))
			if !yield(e, err) {
				return
			}
			// The class follows its row at once. The numbers of later rows are the same as if it came later.
			class := classes.Get([]byte(e.ID))
			if e.Kind == choose.AddRow && class != nil && !yield(choose.Event{Kind: choose.SetClass, ID: e.ID, Class: string(class)}, nil) {
				return
			}
		}
		for key, text := nodes.First(); key != nil; key, text = nodes.Next() {
			e, err := decode(text)
			if e.Position = choose.ByID; !yield(e, err) {
				return
			}
		}
		for id, class := known.First(); id != nil; id, class = known.Next() {
			if !yield(choose.Event{Kind: choose.SetClass, ID: string(id), Class: string(class), Position: choose.ByID}, nil) {
				return
			}
		}
	}
}

// decode parses the JSON of an event of a store. Numbers keep their digits.
func decode(text []byte) (e choose.Event, err error) {
	read := json.NewDecoder(bytes.NewReader(text))
	read.UseNumber()
	err = read.Decode(&e)
	return e, err
}

// Forgotten is what Forget has erased.
type Forgotten struct{ Rows, Classes, Refused int }

// Forget erases from the store of a directory, which no process has open, each row of an id, and each that has it in a
// key column, or at an end of an edge, as ID or SPACE:ID. It erases the classes that events have set for these rows, and refused lines that have the id as a value. The files are
// written anew, so no byte of these is left in them. Tables are not changed, and what a model has learned stays.
func Forget(dir, id string) (f Forgotten, err error) {
	path := filepath.Join(dir, storeFile)
	if _, err := os.Stat(path); err != nil {
		return f, fmt.Errorf("now: %w", err)
	}
	db, err := openStore(dir, true)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Update(func(tx *bbolt.Tx) error {
		m, err := metaOf(tx)
		if err != nil || m.Version == 0 {
			return err
		}
		is := func(e choose.Event) bool {
			for i := 0; i < len(m.Keys); i += 2 {
				if text := choose.TextOf(e.Row[m.Keys[i]]); text != "" && (text == id || m.Keys[i+1]+":"+text == id) {
					return true
				}
			}
			return e.ID == id
		}
		gone := map[string]bool{id: true} // ids whose classes are erased
		each := func(name []byte, of func(choose.Event) bool) (erased int, err error) {
			var at [][]byte
			b := tx.Bucket(name)
			if b == nil {
				return 0, nil
			}
			err = b.ForEach(func(position, text []byte) error {
				e, err := decode(text)
				if err == nil && of(e) {
					at = append(at, slices.Clone(position))
				}
				return err
			})
			for _, position := range at {
				err = errors.Join(err, b.Delete(position))
			}
			return len(at), err
		}
		row := func(e choose.Event) bool {
			if e.Kind == choose.SetClass || !is(e) {
				return false
			}
			gone[e.ID] = true
			return true
		}
		for _, name := range [][]byte{rowBucket, nodeBucket, logBucket} {
			n, err := each(name, row)
			if f.Rows += n; err != nil {
				return err
			}
		}
		if f.Classes, err = each(logBucket, func(e choose.Event) bool { return e.Kind == choose.SetClass && gone[e.ID] }); err != nil {
			return err
		}
		classes := tx.Bucket(classBucket)
		for id := range gone {
			if classes.Get([]byte(id)) != nil {
				f.Classes++
				err = errors.Join(err, classes.Delete([]byte(id)))
			}
		}
		return err
	})
	if err == nil {
		err = compact(db, path)
	}
	for _, name := range []string{refusedFile, refusedFile + ".old"} {
		if err == nil {
			var n int
			n, err = forgetLines(filepath.Join(dir, name), id)
			f.Refused += n
		}
	}
	if err != nil {
		err = fmt.Errorf("now: %s: %w", dir, err)
	}
	return f, err
}

// compact copies a store to a new file, which replaces the old one. No erased bytes are left in it.
func compact(db *bbolt.DB, path string) error {
	next := path + ".new"
	_ = os.Remove(next) // a process that was killed may have left it
	to, err := bbolt.Open(next, 0o600, nil)
	if err != nil {
		return err
	}
	err = errors.Join(bbolt.Compact(to, db, 1<<20), to.Close())
	if err == nil {
		err = os.Rename(next, path)
	}
	return err
}

// forgetLines leaves out of a file the dead letters that have the id, as text, escaped or not, or in a value of the JSON of their line.
func forgetLines(path, id string) (n int, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		var letter deadLetter
		if json.Unmarshal([]byte(line), &letter) != nil {
			letter.Line = line // the line was cut when a process was killed
		}
		var value any // stays nil where the line is no JSON
		_ = json.Unmarshal([]byte(letter.Line), &value)
		// A line that is no JSON keeps its escapes. A letter that was cut escapes them once more.
		raw := fmt.Sprintln(letter.Line, letter.Reason, value)
		once := unescaped(raw)
		if strings.Contains(raw, id) || strings.Contains(once, id) || strings.Contains(unescaped(once), id) {
			n++
		} else {
			kept = append(kept, line)
		}
	}
	if err == nil && n > 0 {
		if err = os.WriteFile(path+".new", []byte(strings.Join(kept, "")), 0o600); err == nil {
			err = os.Rename(path+".new", path)
		}
	}
	return n, err
}

// escapes matches an escape sequence of a JSON string. A run of \u escapes is one match, so that a surrogate pair is decoded as one character.
var escapes = regexp.MustCompile(`(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]`)

// unescaped returns a text with its JSON escapes decoded, in strings or not.
func unescaped(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(escape string) (is string) {
		_ = json.Unmarshal([]byte(`"`+escape+`"`), &is) // no error: the pattern matches valid escapes only
		return is
	})
}
