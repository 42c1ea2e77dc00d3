package now

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
)

// Learning is how a Live learns from the classes that events tell.
type Learning struct {
	// Rate is that of the optimizer of the model; 0 = that of the training.
	Rate float64
}

// Intervals and batch size of a Live that learns. Tests set smaller values.
var (
	checkpointLessons int64 = 4096    // class events from a checkpoint to the next, a multiple of sinks.AnswerLessons
	checkpointEvents  int64 = 1 << 16 // events of all kinds from a checkpoint to the next, at most
	foldEvents              = 1 << 12 // events that a transaction puts from the log into rows and classes, at most
)

// packer and unpacker compress checkpoints, which are mostly zeros: the weights of words that no row has. These settings give no error.
var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	zstdMagic   = []byte{0x28, 0xb5, 0x2f, 0xfd} // RFC 8878, section 3.1.1
)

// learner is the model that learns, and its scores. The writer alone changes it.
type learner struct {
	rows     choose.Changing
	model    *sinks.RowLearner
	positive int
	note     func(string)

	mu    sync.Mutex // held where state changes, and by Stats
	state scoring
}

// newLearner returns the learner of a model. If the store has a checkpoint of the same model, the learner continues from it and goesOn is true. Else the
// learner begins at the position at.
func (l *Live) newLearner(rows choose.Changing, at int64) (s *learner, goesOn bool, err error) {
	s = &learner{rows: rows, positive: rows.Positive(), note: l.opt.Note}
	if s.model, err = rows.Learner(l.opt.Learn.Rate); err != nil {
		return nil, false, err
	}
	s.state.Learned = Learned{Position: at, Loaded: at, Answers: at, Checkpoint: at}
	err = l.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(learnedBucket)
		if b == nil || string(b.Get(digestKey)) != s.model.Digest {
			return nil
		}
		if rate := string(b.Get(rateKey)); rate != fmt.Sprint(l.opt.Learn.Rate) {
			return fmt.Errorf("the model learns at the rate %v, and the store began with %s: a store goes on with the same rate", l.opt.Learn.Rate, rate)
		}
		goesOn = true
		file, err := b.Get(modelKey), error(nil)
		if bytes.HasPrefix(file, zstdMagic) { // earlier versions stored checkpoints unpacked
			if file, err = unpacker.DecodeAll(file, nil); err != nil {
				return fmt.Errorf("the learned model of the store is damaged: %w", err)
			}
		}
		state, _, err := s.model.Net.Resume(bytes.NewReader(file))
		if err != nil && !errors.Is(err, nn.ErrKernels) { // the state is complete, but other kernels may round differently
			return err
		}
		return json.Unmarshal([]byte(state), &s.state)
	})
	s.state.Errors.Rise = true
	s.model.Lessons = s.state.Lessons
	if err = cmp.Or(err, s.model.Publish()); err != nil {
		return nil, false, errors.Join(err, s.model.Close())
	}
	return s, goesOn, nil
}

// follow applies changes, the last of which has the position. After a change that tells a class, s learns before the next change is applied. s may be nil.
func (l *Live) follow(rows choose.Changing, s *learner, position int64, changes []*choose.Change) {
	for from := 0; from < len(changes); {
		to := min(len(changes), from+mostLocked)
		before := position - int64(len(changes)-from)
		if s != nil {
			left := checkpointEvents - (before-s.state.Checkpoint)%checkpointEvents
			to = min(to, from+int(left))
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
			lessons := s.state.Lessons
			s.learn(at, changes[to-1])
			if is := s.state.Lessons; is > lessons && is%checkpointLessons == 0 || (at-s.state.Checkpoint)%checkpointEvents == 0 {
				if err := l.checkpoint(s, at); err != nil {
					s.note(fmt.Sprintf("now: checkpoint: %v: events are accepted, the model goes on learning, and a start learns again from the checkpoint before until the next one", err))
				}
			}
		}
		from = to
	}
}

// learn tests the model by a change that has been applied, and then lets it learn.
func (s *learner) learn(position int64, c *choose.Change) {
	lesson, err := choose.LessonOf(s.rows, c)
	if lesson == nil && err == nil {
		return
	}
	var said, loaded []float32
	if err == nil {
		said, loaded, err = s.rows.Learn(context.Background(), s.model, lesson)
	}
	if alarm := s.add(position, lesson, said, loaded, err); alarm != nil {
		s.note(alarm.String())
	}
}

// add scores the answers to a lesson, or counts the error of one that was left out. It returns an alarm, or nil.
func (s *learner) add(position int64, lesson *choose.Lesson, said, loaded []float32, err error) *Alarm {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Position = position; err != nil {
		s.state.LeftOut++
		s.state.Why = err.Error()
		return nil
	}
	if s.state.Lessons = s.model.Lessons; s.state.Lessons%sinks.AnswerLessons == 0 {
		s.state.Answers = position
	}
	return s.state.add(position, int(lesson.Class), s.positive, said, loaded)
}

// checkpoint stores the model and its scores at a position. From then on this state of the model answers.
func (l *Live) checkpoint(s *learner, at int64) error {
	next := s.state
	next.Answers, next.Checkpoint = at, at
	state, err := json.Marshal(next)
	var file bytes.Buffer
	if err = cmp.Or(err, s.model.Publish(), s.model.Net.Checkpoint(&file, string(state), nil)); err != nil {
		return err
	}
	err = l.db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(learnedBucket)
		if err == nil {
			_, err = tx.CreateBucketIfNotExists(logBucket)
		}
		if err != nil {
			return err
		}
		return cmp.Or(b.Put(digestKey, []byte(s.model.Digest)), b.Put(rateKey, fmt.Append(nil, l.opt.Learn.Rate)), b.Put(modelKey, packer.EncodeAll(file.Bytes(), nil)), fold(tx, at))
	})
	if err == nil {
		s.mu.Lock()
		s.state.Answers, s.state.Checkpoint = at, at
		s.mu.Unlock()
	}
	return err
}

// fold moves at most foldEvents events of the log, up to a position, into rows and classes.
func fold(tx *bbolt.Tx, upTo int64) error {
	log := tx.Bucket(logBucket)
	for range foldEvents {
		key, text := log.Cursor().First()
		if key == nil || int64(binary.BigEndian.Uint64(key)) > upTo {
			return nil
		}
		e, err := decode(text)
		if err = cmp.Or(err, put(tx, int64(binary.BigEndian.Uint64(key)), e)); err != nil {
			return err
		}
		if err := log.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// errLearns is the error of Open without Options.Learn for a store that has a model that learns.
var errLearns = errors.New("the store has a model that learns: go on with Options.Learn (serve -learn), or begin a new store")

// again applies the events of the log to rows, and lets the model learn from those behind the checkpoint, one by one at their positions.
func (l *Live) again(ctx context.Context, rows choose.Changing, s *learner) error {
	var all []choose.Event // read first, since a checkpoint between two events writes to the store
	err := l.db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket(logBucket) == nil {
			return nil
		}
		return tx.Bucket(logBucket).ForEach(func(key, text []byte) error {
			e, err := decode(text)
			e.Position = int64(binary.BigEndian.Uint64(key))
			all = append(all, e)
			return err
		})
	})
	for _, e := range all {
		b := rows.Begin()
		if err = cmp.Or(err, context.Cause(ctx), b.Add(e)); err != nil {
			return err
		}
		l.follow(rows, s, e.Position, b.Changes)
	}
	return err
}

// Checkpoint keeps the model that learns as it is, which answers from now on, and returns its position. A Live makes checkpoints by itself, and
// starts at the last one with what came behind it.
func (l *Live) Checkpoint() (int64, error) {
	l.write.Lock()
	defer l.write.Unlock()
	if l.learner == nil {
		return 0, errNotLearning
	}
	return l.meta.Position, l.checkpoint(l.learner, l.meta.Position)
}

// Save writes the model that learns to a file for sinks.Load. Events wait meanwhile.
func (l *Live) Save(w io.Writer) error {
	l.write.Lock()
	defer l.write.Unlock()
	if l.learner == nil {
		return errNotLearning
	}
	return l.learner.model.Save(w)
}

var errNotLearning = errors.New("now: no model learns: set Options.Learn")
