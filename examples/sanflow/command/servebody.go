package command

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/semaphore"
)

// Bounds of the memory of all requests together, beside the model and the open graph.
const (
	moreBodies = 1024     // bodies that are read at a time, more than -concurrent
	freeText   = 16 << 10 // bytes of a body that each of these has, whatever others hold
	textMemory = 64 << 20 // of bodies beyond freeText, at least four of -max-body
	workMemory = maxValues*valueCost + 32<<20
	valueCost  = 192  // bytes of a node, an edge or an attribute as a graph, measured with nodes without attributes
	answerCost = 64   // bytes of the probability of a class in an answer
	pairCost   = 96   // bytes of the reasons for each pair of nodes of a posted graph, measured with a chain of 5000 atoms
	mostNodes  = 1500 // of a posted graph whose reasons are asked for
)

// budget is the memory that requests may hold. The text of bodies and the work on them have their own, so that
// bodies that come slowly do not stop the work.
type budget struct{ text, work *semaphore.Weighted }

func newBudget(body int64) *budget {
	return &budget{semaphore.NewWeighted(max(textMemory, 4*body)), semaphore.NewWeighted(workMemory)}
}

// holding is the memory of a request.
type holding struct {
	memory     *budget
	text, work int64
}

// wait takes memory for work when there is some, until ctx ends. Requests get it in the order in which they came.
func (h *holding) wait(ctx context.Context, n int64) error {
	if n > workMemory {
		return fail(http.StatusRequestEntityTooLarge, "the request takes %d bytes of memory by its nodes, edges and answers, want at most %d", n, workMemory)
	}
	if h.memory.work.Acquire(ctx, n) != nil {
		return context.Cause(ctx)
	}
	h.work += n
	return nil
}

// release gives the memory back.
func (h *holding) release() {
	h.memory.text.Release(h.text)
	h.memory.work.Release(h.work)
	h.text, h.work = 0, 0
}

// fill reads all of r, at most some bytes, into memory of the text.
func (h *holding) fill(r io.Reader, size, most int64) ([]byte, error) {
	buf := make([]byte, 0, max(512, min(size+1, freeText)))
	for {
		if len(buf) == cap(buf) {
			grown := min(2*int64(cap(buf)), most+1)
			if !h.memory.text.TryAcquire(grown) {
				return nil, errBusy
			}
			h.text += grown
			buf = append(make([]byte, 0, grown), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > most:
			return nil, &http.MaxBytesError{Limit: most}
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// cost is the memory of the graph that is made of a body, by its values, of the answers and, with why, of the reasons. It is taken at once:
// requests that hold some and wait for more would wait for each other.
func (s *server) cost(text []byte, classes int, why bool) int64 {
	values := int64(bytes.Count(text, []byte{','}))
	if s.task == "graphs" {
		if bytes.Contains(text, smilesKey) { // an atom has a byte or more
			values = int64(len(text))
		}
		if nodes := min(values, mostNodes); why {
			return valueCost*values + pairCost*nodes*nodes
		}
		return valueCost * values
	}
	return valueCost*values + answerCost*min(values+1, int64(s.ids))*int64(classes+1)
}

// lastByte is the time for a body to come when the command ends.
const lastByte = time.Second

// body reads the body of a request, which is JSON or JSON packed by gzip, within -timeout.
func (s *server) body(w http.ResponseWriter, r *http.Request, held *holding) (text []byte, err error) {
	select {
	case s.bodies <- struct{}{}:
		defer func() { <-s.bodies }()
	default:
		return nil, errBusy
	}
	client := http.NewResponseController(w)
	_ = client.SetReadDeadline(time.Now().Add(s.timeout)) // a writer without deadlines is that of a test
	stop := context.AfterFunc(s.ending, func() { _ = client.SetReadDeadline(time.Now().Add(min(lastByte, s.grace))) })
	limit := int64(s.bodyLimit)
	switch packed := r.Header.Get("Content-Encoding"); {
	case packed != "" && packed != "identity" && packed != "gzip":
		w.Header().Set("Accept-Encoding", "gzip")
		err = fail(http.StatusUnsupportedMediaType, "the body is packed by %q, want JSON, plain or packed by gzip", clip(packed))
	case r.ContentLength > limit:
		err = &http.MaxBytesError{Limit: limit}
	default:
		text, err = held.fill(http.MaxBytesReader(w, r.Body, limit), r.ContentLength, limit)
	}
	rest := err
	if err != nil { // a client that still sends may not read the answer, so up to twice the limit is read and left out
		_, rest = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 2*limit))
	}
	switch ended := !stop(); {
	case rest != nil: // the rest of the body is not waited for, and the connection has no further request
		w.Header().Set("Connection", "close")
		_ = client.SetReadDeadline(time.Now())
	case !ended:
		_ = client.SetReadDeadline(time.Time{})
	}
	if err == nil && bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		var plain *gzip.Reader
		if plain, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = held.fill(plain, 4*int64(len(text)), limit)
		}
	}
	large := (*http.MaxBytesError)(nil)
	switch {
	case err == nil:
		return text, nil
	case errors.As(err, &large):
		return nil, fail(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", s.bodyLimit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fail(http.StatusRequestTimeout, "the body did not come within -timeout")
	case errors.As(err, new(failure)):
		return nil, err
	}
	return nil, fail(http.StatusBadRequest, "%w", err)
}
