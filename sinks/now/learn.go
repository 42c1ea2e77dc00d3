package now

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
)

// Learning is how a Live learns from the classes that events tell.
type Learning struct {
	// Rate is that of the optimizer of the model; 0 = that of the training.
	Rate float64
	// OnAlarm, if set, is called for each alarm, while events wait. Open calls it again for those behind the checkpoint.
	OnAlarm func(Alarm)
}

// Distances of a Live that learns. Tests have shorter ones.
var (
	answerLessons     int64 = 256     // class events from one model that answers to the next
	checkpointLessons int64 = 4096    // class events from a checkpoint to the next, a multiple of answerLessons
	checkpointEvents  int64 = 1 << 16 // events of all kinds from a checkpoint to the next, at most
	foldEvents              = 1 << 12 // events that a transaction puts from the log into rows and classes, at most
)

// filePart is how many bytes of a model one value of the store has at most.
const filePart = 1 << 20

// learner is the model that learns, and its scores. The writer alone changes it.
type learner struct {
	Learning
	of       choose.Teaching
	model    *sinks.RowLearner
	positive int

	mu    sync.Mutex // held where state changes, and by Stats
	state learned
}

// learned is what a checkpoint has beside the model: what has been learned from the events up to Checkpoint.
type learned struct {
	Model      string // digest of the model that was loaded
	Rate       float64
	Models     []int // bytes of each file of the checkpoint
	Lessons    int64
	LeftOut    int64
	Why        string
	Position   int64
	Loaded     int64
	Answers    int64
	Checkpoint int64
	Scores     scoring
}

// newLearner returns the learner of a model, and whether it goes on from the checkpoint of the store, which is one of the same model. Else it begins
// at the position of the store.
func (l *Live) newLearner(rows choose.Changing, at int64) (s *learner, goesOn bool, err error) {
	of, ok := rows.(choose.Teaching)
	if !ok {
		return nil, false, fmt.Errorf("a %T does not learn", rows)
	}
	s = &learner{Learning: *l.opt.Learn, of: of, positive: of.Positive()}
	if s.model, err = of.Learner(s.Rate); err != nil {
		return nil, false, err
	}
	s.state = learned{Model: s.model.Digest(), Rate: s.Rate, Position: at, Loaded: at, Answers: at, Checkpoint: at}
	err = l.db.View(func(tx *bbolt.Tx) error {
		saved, files, err := readLearned(tx)
		if goesOn = saved != nil && saved.Model == s.state.Model; err != nil || !goesOn {
			return err
		}
		if saved.Rate != s.Rate {
			return fmt.Errorf("the model learns at the rate %g, and the store began with %g: a store goes on with the same rate", s.Rate, saved.Rate)
		}
		s.state = *saved
		if err = s.model.Resume(files); errors.Is(err, nn.ErrKernels) {
			err = nil // the state is right; what is learned from here on may round otherwise
		}
		return err
	})
	s.state.Scores.Errors.Rise = true
	if err == nil {
		err = s.model.Publish()
	}
	if err != nil {
		return nil, false, errors.Join(err, s.model.Close())
	}
	return s, goesOn, nil
}

// follow applies changes, the last of which has a position. From each that tells a class the model learns when the change is applied and none behind it.
func (l *Live) follow(rows choose.Changing, s *learner, position int64, changes []*choose.Change) error {
	for from := 0; from < len(changes); {
		to := min(len(changes), from+mostLocked)
		before := position - int64(len(changes)-from)
		if s != nil {
			if left := s.state.Checkpoint + checkpointEvents - before; left > 0 {
				to = min(to, from+int(left))
			}
			for i, c := range changes[from:to] {
				if c.Tells() {
					to = from + i + 1
					break
				}
			}
		}
		at := before + int64(to-from)
		rows.Apply(at, changes[from:to]...)
		if s != nil && at > s.state.Checkpoint {
			isDue := s.learn(at, changes[to-1])
			if isDue || at-s.state.Checkpoint == checkpointEvents {
				if err := l.checkpoint(s, at); err != nil {
					return err
				}
			}
		}
		from = to
	}
	return nil
}

// learn tests the model by a change that has been applied, and then lets it learn. It reports whether a checkpoint is due.
func (s *learner) learn(position int64, c *choose.Change) (isDue bool) {
	lesson, err := s.of.Lesson(c)
	if lesson == nil && err == nil {
		return false
	}
	var said, loaded []float32
	if err == nil {
		said, loaded, err = s.of.Learn(context.Background(), s.model, lesson)
	}
	s.mu.Lock()
	s.state.Position = position
	var alarm *Alarm
	if err == nil {
		s.state.Lessons++
		alarm = s.state.Scores.add(position, int(lesson.Class), s.positive, said, loaded)
	} else {
		s.state.LeftOut++
		s.state.Why = err.Error()
	}
	n := s.state.Lessons
	s.mu.Unlock()
	if alarm != nil && s.OnAlarm != nil {
		s.OnAlarm(*alarm)
	}
	if err == nil && n%answerLessons == 0 {
		s.publish(position)
	}
	return err == nil && n%checkpointLessons == 0
}

// publish lets the model of a position answer.
func (s *learner) publish(position int64) {
	_ = s.model.Publish() // it is a model of the same shape
	s.mu.Lock()
	s.state.Answers = position
	s.mu.Unlock()
}

// checkpoint keeps the model as it is at a position, which answers from now on.
func (l *Live) checkpoint(s *learner, at int64) error {
	s.publish(at)
	files, err := s.model.Checkpoint()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.state.Checkpoint = at
	text, err := json.Marshal(s.state)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return l.db.Update(func(tx *bbolt.Tx) error {
		if tx.Bucket(learnedBucket) != nil {
			if err := tx.DeleteBucket(learnedBucket); err != nil {
				return err
			}
		}
		b, err := tx.CreateBucket(learnedBucket)
		if err == nil {
			_, err = tx.CreateBucketIfNotExists(logBucket)
		}
		if err == nil {
			err = b.Put(learnedKey, text)
		}
		for i, file := range files {
			for part := 0; err == nil && len(file) > 0; part++ {
				n := min(len(file), filePart)
				err = b.Put(partKey(i, part), file[:n])
				file = file[n:]
			}
		}
		if err == nil {
			err = fold(tx, at)
		}
		return err
	})
}

// partKey is the key of a part of a file of a checkpoint.
func partKey(file, part int) []byte { return fmt.Appendf(nil, "model %04d %06d", file, part) }

// readLearned reads the checkpoint of a store, nil if it has none.
func readLearned(tx *bbolt.Tx) (s *learned, files [][]byte, err error) {
	b := tx.Bucket(learnedBucket)
	if b == nil {
		return nil, nil, nil
	}
	if err := json.Unmarshal(b.Get(learnedKey), &s); err != nil {
		return nil, nil, err
	}
	for i := 0; b.Get(partKey(i, 0)) != nil; i++ {
		var file bytes.Buffer
		for part := 0; ; part++ {
			bytes := b.Get(partKey(i, part))
			if bytes == nil {
				break
			}
			file.Write(bytes)
		}
		files = append(files, file.Bytes())
	}
	return s, files, nil
}

// fold puts events of the log, up to a position, into rows and classes: foldEvents of them at most.
func fold(tx *bbolt.Tx, upTo int64) error {
	log := tx.Bucket(logBucket)
	for range foldEvents {
		key, text := log.Cursor().First()
		if key == nil || int64(binary.BigEndian.Uint64(key)) > upTo {
			return nil
		}
		e, err := decode(text)
		if err == nil {
			err = put(tx, int64(binary.BigEndian.Uint64(key)), e)
		}
		if err == nil {
			err = log.Delete(key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// logged is an event of the log.
type logged struct {
	position int64
	event    choose.Event
}

// readLog reads events of the log behind a position, loadBatch of them at most.
func readLog(tx *bbolt.Tx, behind int64) (all []logged, err error) {
	log := tx.Bucket(logBucket)
	if log == nil {
		return nil, nil
	}
	c := log.Cursor()
	for key, text := c.Seek(binary.BigEndian.AppendUint64(nil, uint64(behind)+1)); key != nil && len(all) < loadBatch; key, text = c.Next() {
		e, err := decode(text)
		if err != nil {
			return nil, err
		}
		all = append(all, logged{int64(binary.BigEndian.Uint64(key)), e})
	}
	return all, nil
}

// errLearns is the error of a Live that does not learn and a store that does.
var errLearns = errors.New("the store has a model that learns: go on with Options.Learn, or begin a new store")

// again applies the events of the log to rows, and lets the model learn from those behind the checkpoint, one by one at their positions.
func (l *Live) again(ctx context.Context, rows choose.Changing, s *learner) error {
	for last := int64(0); ; {
		var batch []logged
		err := l.db.View(func(tx *bbolt.Tx) (err error) {
			batch, err = readLog(tx, last)
			return err
		})
		if err != nil || len(batch) == 0 {
			return err
		}
		for _, e := range batch {
			b := rows.Begin()
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := b.Add(e.event); err != nil {
				return err
			}
			if err := l.follow(rows, s, e.position, b.Changes); err != nil {
				return err
			}
			last = e.position
		}
	}
}

// Checkpoint keeps the model that learns as it is, which answers from now on, and returns its position. A Live makes checkpoints by itself, and
// starts at the last one with what came behind it.
func (l *Live) Checkpoint() (int64, error) {
	l.write.Lock()
	defer l.write.Unlock()
	if err := l.err(); err != nil {
		return 0, err
	}
	if l.learner == nil {
		return 0, errNotLearning
	}
	return l.meta.Position, l.checkpoint(l.learner, l.meta.Position)
}

// Save writes the model that learns to a file for sinks.Load, and returns its position.
func (l *Live) Save(w io.Writer) (int64, error) {
	var file bytes.Buffer
	l.write.Lock()
	err, at := errNotLearning, l.meta.Position
	if l.learner != nil {
		err = l.learner.model.Save(&file)
	}
	l.write.Unlock()
	if err == nil {
		_, err = file.WriteTo(w)
	}
	return at, err
}

var errNotLearning = errors.New("now: no model learns: set Options.Learn")

// stats is what has been learned.
func (s *learner) stats() *Learned {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	return &Learned{
		Lessons: st.Lessons, LeftOut: st.LeftOut, Why: st.Why, Position: st.Position, Loaded: st.Loaded, Answers: st.Answers, Checkpoint: st.Checkpoint,
		Windows: st.Scores.Windows, Now: st.Scores.Now.window(s.positive), Alarms: st.Scores.Alarms, LastAlarms: st.Scores.Last,
	}
}
