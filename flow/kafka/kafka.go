// Package kafka connects streams of records with Apache Kafka: a [Topic] is what message.Source
// reads and message.Sink writes. Package message says what is promised.
//
//	topic := kafka.Topic{Seeds: []string{"broker:9092"}, Name: "graphs", Group: "train"}
//	err := flow.From(message.Source{Topic: topic}).Via(…).To(…).Run(ctx)
//
// The topic exists. A producer is idempotent, waits for all replicas in sync, and has the key of
// its name: all of its messages are in one partition, in order. A producer that begins anew stores
// its messages again; the reader leaves them out.
//
// Readers with the same Group share the partitions. A reader commits, by itself, the lowest
// position of each partition that is not complete, twice a second, before it gives a partition up,
// and at the end. After a kill or a rebalance the messages behind that come again.
package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sanflow/sanflow/flow/message"
)

// Topic is a topic of Kafka.
type Topic struct {
	Seeds []string // host:port of some brokers
	Name  string
	// Group is the group of readers. Receive needs it.
	Group string
	// Options are further options of the client: SASL, TLS, sizes, timeouts.
	Options []kgo.Opt
}

var _ message.Topic = Topic{}

const (
	poll     = 64                     // most messages that Receive takes from the client at once
	interval = 500 * time.Millisecond // time between two commits
	patience = 20 * time.Second       // limit of the last commit, and of the wait until a message is stored
)

// String names the topic.
func (t Topic) String() string { return "topic " + t.Name }

func (t Topic) client(o ...kgo.Opt) (*kgo.Client, error) {
	if len(t.Seeds) == 0 || t.Name == "" {
		return nil, errors.New("kafka: Seeds and Name must be set")
	}
	cl, err := kgo.NewClient(append(append(o, kgo.SeedBrokers(t.Seeds...)), t.Options...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return cl, nil
}

// Receive joins the group.
func (t Topic) Receive(ctx context.Context) (message.Receiver, error) {
	if t.Group == "" {
		return nil, errors.New("kafka: Group is empty, want the name of the group of readers")
	}
	r := &receiver{Topic: t, parts: map[int32]*partition{}, failed: make(chan error, 1)}
	var err error
	r.cl, err = t.client(
		kgo.ConsumerGroup(t.Group), kgo.ConsumeTopics(t.Name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(), kgo.FetchMaxBytes(16<<20), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.BlockRebalanceOnPoll(), // no rebalance between a poll and the entry of its messages in parts
		kgo.OnPartitionsRevoked(func(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
			r.commit(ctx)
			r.forget(gone)
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { r.forget(gone) }),
	)
	if err != nil {
		return nil, err
	}
	if err := r.cl.Ping(ctx); err != nil {
		r.cl.CloseAllowingRebalance()
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx)) // commits outlast the run
	r.tasks.Go(func() { r.committing(ctx) })
	return r, nil
}

// Follow reads all partitions behind the positions of after, without a group.
func (t Topic) Follow(ctx context.Context, after map[string]int64) (message.Receiver, error) {
	r := &receiver{Topic: t, parts: map[int32]*partition{}, read: map[int32]int64{}, stop: func() {}}
	for producer, number := range after {
		n, err := strconv.ParseInt(strings.TrimPrefix(producer, t.Name+"/"), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no partition", t, producer)
		}
		r.read[int32(n)] = number
	}
	var err error
	r.cl, err = t.client(kgo.ConsumeTopics(t.Name), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxBytes(16<<20), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return nil, err
	}
	if err := r.cl.Ping(ctx); err != nil {
		r.cl.Close()
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return r, nil
}

// unread returns the records of f that a reader that follows has not read. The client begins to read a partition at its first record. If
// the reader has read all of f, unread moves the client to the first record behind r.read.
func (r *receiver) unread(f kgo.FetchTopicPartition) ([]*kgo.Record, error) {
	read := r.read[f.Partition]
	switch {
	case len(f.Records) == 0:
		return nil, nil
	case f.HighWatermark < read:
		return nil, fmt.Errorf("%s, partition %d: the last message is %d, and %d have been read: this is another topic", r.Topic, f.Partition, f.HighWatermark, read)
	case read > 0 && f.LogStartOffset > read:
		return nil, fmt.Errorf("%s, partition %d: messages %d to %d have not been read, and are no longer there", r.Topic, f.Partition, read+1, f.LogStartOffset)
	}
	fresh := f.Records
	for len(fresh) > 0 && fresh[0].Offset < read {
		fresh = fresh[1:]
	}
	if len(fresh) == 0 {
		r.cl.SetOffsets(map[string]map[int32]kgo.EpochOffset{r.Name: {f.Partition: {Epoch: -1, Offset: read}}})
		return nil, nil
	}
	r.read[f.Partition] = fresh[len(fresh)-1].Offset + 1
	return fresh, nil
}

// receiver is a reader of a group, or one that follows.
type receiver struct {
	Topic
	read   map[int32]int64 // by partition, the number of the last message that a reader that follows has read; nil: a reader of a group
	cl     *kgo.Client
	failed chan error
	stop   context.CancelFunc
	tasks  sync.WaitGroup
	lag    atomic.Int64

	mu    sync.Mutex
	parts map[int32]*partition // by number: the partitions that this reader has
}

// partition has the messages of a partition that are received and not complete, since the partition was
// assigned to this reader.
type partition struct {
	open  []*position     // from the first incomplete message on, in the order of the partition
	next  kgo.EpochOffset // offset of the next commit
	dirty bool
	lag   int64 // number of messages behind the last received one
}

// position is a received message, and whether its rows are complete.
type position struct {
	*kgo.Record
	of   *partition
	done bool
}

// Receive fetches messages, and notes them before a rebalance can take their partition away.
func (r *receiver) Receive(ctx context.Context) (messages []message.Message, err error) {
	select {
	case err := <-r.failed:
		return nil, err
	default:
	}
	wait, stop := context.WithTimeout(ctx, interval)
	defer stop()
	got := r.cl.PollRecords(wait, poll)
	defer r.cl.AllowRebalance()
	r.mu.Lock()
	defer r.mu.Unlock()
	got.EachPartition(func(f kgo.FetchTopicPartition) {
		of := r.parts[f.Partition]
		if of == nil {
			of = &partition{}
			r.parts[f.Partition] = of
		}
		records := f.Records
		if r.read != nil {
			var wrong error
			records, wrong = r.unread(f)
			err = cmp.Or(err, wrong)
		}
		for _, rec := range records {
			p := &position{Record: rec, of: of}
			if r.read == nil {
				of.open = append(of.open, p)
			}
			messages = append(messages, r.message(p))
		}
		if n := len(f.Records); n > 0 {
			of.lag = f.HighWatermark - f.Records[n-1].Offset - 1
		}
		absent := r.read != nil && errors.Is(f.Err, kerr.UnknownTopicOrPartition)
		if f.Err != nil && (absent || !kerr.IsRetriable(f.Err)) && wait.Err() == nil {
			err = fmt.Errorf("%s: %w", r.Topic, f.Err)
		}
	})
	if len(messages) > 0 && (r.read == nil || err == nil) {
		lag := int64(0)
		for _, of := range r.parts {
			lag += of.lag
		}
		r.lag.Store(lag)
		return messages, nil
	}
	return nil, cmp.Or(ctx.Err(), err)
}

func (r *receiver) message(p *position) message.Message {
	m := message.Message{
		Producer: fmt.Sprintf("%s/%d", p.Topic, p.Partition), Number: p.Offset + 1, Body: p.Value, Handle: p,
		Place: fmt.Sprintf("%s, partition %d, offset %d", r.Topic, p.Partition, p.Offset),
	}
	if r.read != nil {
		return m
	}
	m.SetHeaders(func(name string) string {
		for _, h := range p.Headers {
			if h.Key == name {
				return string(h.Value)
			}
		}
		return ""
	})
	return m
}

// Ack marks a message as complete. The next commit includes it once all messages before it are complete.
func (r *receiver) Ack(m message.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := m.Handle.(*position)
	p.done = true
	for of := p.of; len(of.open) > 0 && of.open[0].done; of.open = of.open[1:] {
		of.next, of.dirty = kgo.EpochOffset{Epoch: of.open[0].LeaderEpoch, Offset: of.open[0].Offset + 1}, true
	}
}

// forget leaves partitions to other readers. Their messages that become complete later are not committed.
func (r *receiver) forget(gone map[string][]int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range gone[r.Name] {
		delete(r.parts, n)
	}
}

func (r *receiver) committing(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := r.commit(ctx); err != nil && ctx.Err() == nil {
				r.failed <- err
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// commit commits, for each partition, the position of the first message that is not complete. During a
// rebalance the broker refuses the commit. The next commit repeats it, or the messages come again.
func (r *receiver) commit(ctx context.Context) error {
	offsets := map[int32]kgo.EpochOffset{}
	r.mu.Lock()
	for n, p := range r.parts {
		if p.dirty {
			offsets[n] = p.next
		}
	}
	r.mu.Unlock()
	if len(offsets) == 0 {
		return nil
	}
	var failed error
	r.cl.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{r.Name: offsets}, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			failed = err
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					failed = err
				} else if of := r.parts[p.Partition]; of != nil && of.next == offsets[p.Partition] {
					of.dirty = false
				}
			}
		}
	})
	for _, e := range []error{kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID, kgo.ErrClientClosed} {
		if errors.Is(failed, e) {
			return nil
		}
	}
	if failed == nil || kerr.IsRetriable(failed) {
		return nil
	}
	return fmt.Errorf("%s, group %s: commit: %w", r.Topic, r.Group, failed)
}

// Lag returns the number of messages that wait in the partitions of the last fetch.
func (r *receiver) Lag() int64 { return r.lag.Load() }

// Close commits, and leaves the group.
func (r *receiver) Close() error {
	r.stop()
	r.tasks.Wait()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	err := r.commit(ctx)
	r.cl.CloseAllowingRebalance()
	return err
}

// Send connects a producer.
func (t Topic) Send(ctx context.Context) (message.Sender, error) {
	cl, err := t.client(kgo.DefaultProduceTopic(t.Name), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(patience), kgo.ProducerLinger(0))
	if err != nil {
		return nil, err
	}
	if err := cl.Ping(ctx); err != nil {
		cl.Close()
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return sender{cl}, nil
}

type sender struct{ cl *kgo.Client }

// Send produces messages, into the partition of their producer. It does not wait as ProduceSync
// does: a client whose broker is gone keeps an idempotent message until it is closed.
func (s sender) Send(ctx context.Context, messages []message.Message) error {
	answers := make(chan error, len(messages))
	for _, m := range messages {
		rec := &kgo.Record{Key: []byte(m.Producer), Value: m.Body}
		for _, h := range m.Headers() {
			rec.Headers = append(rec.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
		}
		s.cl.Produce(ctx, rec, func(_ *kgo.Record, err error) { answers <- err })
	}
	for range messages {
		select {
		case err := <-answers:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Close drops the messages that the broker has not answered.
func (s sender) Close() error {
	s.cl.Close()
	return nil
}
