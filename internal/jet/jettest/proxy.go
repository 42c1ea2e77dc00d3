package jettest

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy carries connections to a broker, and ends each when it has carried so many bytes, in
// the middle of whatever that is. A number of bytes and not of milliseconds, since on a slow machine
// nothing would ever be done.
type Proxy struct {
	listener net.Listener
	to       string
	most     int
	rng      *rand.Rand // of the goroutine that accepts
	tasks    sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]net.Conn // of clients, to those to the broker
	ends  int

	frozen chan struct{} // closed: nothing is carried any more
	freeze sync.Once
}

// NewProxy begins to carry connections to an address, until the end of the test. Each is cut after
// at most so many bytes, as the seed decides.
func NewProxy(t testing.TB, to string, most int, seed uint64) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, to: to, most: most, rng: rand.New(rand.NewPCG(seed, 14)), conns: map[net.Conn]net.Conn{}, frozen: make(chan struct{})}
	p.tasks.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for near, far := range p.conns {
			near.Close()
			far.Close()
		}
		p.mu.Unlock()
		p.tasks.Wait()
	})
	return p
}

// URL is where clients connect.
func (p *Proxy) URL() string { return "nats://" + p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.conns[near] = far
		p.mu.Unlock()
		left := &atomic.Int64{}
		left.Store(p.rng.Int64N(int64(p.most)))
		hard := p.rng.IntN(2) == 0
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			p.tasks.Go(func() {
				_, _ = io.Copy(way[0], metered{way[1], left, p.frozen})
				p.end(near, hard && left.Load() <= 0)
			})
		}
	}
}

// metered is a connection that ends when nothing is left, and from which nothing comes when it is
// frozen.
type metered struct {
	net.Conn
	left   *atomic.Int64
	frozen chan struct{}
}

func (m metered) Read(b []byte) (int, error) {
	left := m.left.Load()
	if left <= 0 {
		return 0, io.EOF
	}
	n, err := m.Conn.Read(b[:min(int64(len(b)), left)])
	m.left.Add(-int64(n))
	select {
	case <-m.frozen:
		return 0, m.drain()
	default:
		return n, err
	}
}

// drain reads until the connection ends, and keeps it to itself.
func (m metered) drain() error {
	_, err := io.Copy(io.Discard, m.Conn)
	return errors.Join(io.EOF, err)
}

// Freeze carries nothing from now on: connections stay, and are silent.
func (p *Proxy) Freeze() { p.freeze.Do(func() { close(p.frozen) }) }

// end ends a connection; a hard one loses what is on its way.
func (p *Proxy) end(near net.Conn, hard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	far, ok := p.conns[near]
	if !ok {
		return
	}
	delete(p.conns, near)
	p.ends++
	if hard {
		_ = near.(*net.TCPConn).SetLinger(0)
		_ = far.(*net.TCPConn).SetLinger(0)
	}
	near.Close()
	far.Close()
}

// Ends returns how many connections have ended.
func (p *Proxy) Ends() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends
}
