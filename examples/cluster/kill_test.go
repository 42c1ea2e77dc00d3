package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// mortal is a process that is started again when it was killed.
type mortal struct {
	*process

	mu     sync.Mutex
	die    context.CancelFunc // while it runs
	killed bool
	done   bool
	kills  int
}

// keep runs the process until it ends by itself, or ctx does.
func (m *mortal) keep(ctx context.Context) error {
	for {
		life, die := context.WithCancel(ctx)
		m.mu.Lock()
		m.die = die
		m.mu.Unlock()
		err := m.run(life)
		die()
		m.mu.Lock()
		again := m.killed
		m.die, m.killed, m.done = nil, false, err == nil && !again
		m.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil
		case !again:
			return err
		}
	}
}

// kill kills the process, if it runs.
func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.die != nil && !m.killed && !m.done {
		m.killed = true
		m.kills++
		m.die() // SIGKILL
	}
}

func (m *mortal) runs() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.die != nil && !m.killed && !m.done
}

// killer kills a process now and then.
type killer struct {
	*harness
	js      jetstream.JetStream
	brokers []*mortal
	all     []*mortal
}

func (k *killer) run(ctx context.Context, trained <-chan struct{}) {
	rng := rand.New(rand.NewPCG(k.seed, 14))
	slower, before := 1.0, int64(0)
	for {
		// Kills become rarer until more has been learned than ever before: otherwise a run
		// makes no progress if a process takes longer to start, or brokers to elect a leader,
		// than the time between kills. Work of workers is no measure, since it may repeat.
		if now := k.learned(); now > before {
			slower, before = max(1, slower/1.5), now
		} else {
			slower = min(100, slower*1.3)
		}
		select {
		case <-trained:
			return
		case <-ctx.Done():
			return
		case <-time.After(time.Duration((0.5 + rng.Float64()) * slower * float64(k.every))):
		}
		k.once(ctx, rng)
	}
}

// once kills one process of a random role that has running processes.
func (k *killer) once(ctx context.Context, rng *rand.Rand) {
	who := map[string][]*mortal{}
	for _, p := range k.all {
		if p.runs() {
			who[p.role] = append(who[p.role], p)
		}
	}
	if len(k.brokers) > 1 {
		if b := k.leader(ctx); b != nil {
			who[roleBroker] = append(who[roleBroker], b)
		}
	}
	if roles := slices.Sorted(maps.Keys(who)); len(roles) > 0 {
		some := who[roles[rng.IntN(len(roles))]]
		some[rng.IntN(len(some))].kill()
	}
}

// progress is a number that grows with what has been done.
func (k *killer) learned() (n int64) {
	for _, p := range k.all {
		if p.role != "work" {
			n += p.progress()
		}
	}
	return n
}

// leader returns the server that leads one of the streams, while all of its
// followers have what it has: of three servers one may be away.
func (k *killer) leader(ctx context.Context) *mortal {
	for _, b := range k.brokers {
		if !b.runs() {
			return nil
		}
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	graphs, fields := k.streams()
	name := ""
	for _, stream := range []string{graphs, fields} {
		s, err := k.js.Stream(ctx, stream)
		if err != nil || s.CachedInfo().Cluster == nil {
			return nil
		}
		for _, r := range s.CachedInfo().Cluster.Replicas {
			if !r.Current || r.Offline {
				return nil
			}
		}
		name = s.CachedInfo().Cluster.Leader
	}
	for _, b := range k.brokers {
		if b.name == name {
			return b
		}
	}
	return nil
}
