package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sinks"
)

// edges are those of a ring, or a path, of n nodes.
func edges(n int, ring bool) string {
	var list []string
	for v := range n - 1 {
		list = append(list, fmt.Sprintf("[%d,%d]", v, v+1))
	}
	if ring {
		list = append(list, fmt.Sprintf("[%d,0]", n-1))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// The program learns from what is posted, and answers better than by chance soon.
func TestOnline(t *testing.T) {
	defer leak.VerifyNone(t)
	ctx, stop := context.WithCancel(context.Background())
	log.SetOutput(io.Discard) // it says how the pipeline ended
	handler := listen(ctx)
	post := func(query, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/"+query, strings.NewReader(body)))
		return w
	}
	if got := post("", "[[0,1]]").Code; got != http.StatusServiceUnavailable { // nothing was learned
		t.Errorf("status %d, want %d", got, http.StatusServiceUnavailable)
	}
	for path, part := range map[string]string{"/live/": "<!DOCTYPE html>", "/live/metrics": "sanflow_runs "} {
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); !strings.Contains(w.Body.String(), part) {
			t.Errorf("%s has status %d and no %q", path, w.Code, part)
		}
	}
	for _, query := range []string{"", "?class=ring"} {
		for _, body := range []string{"", "[[0,-1]]", "[[0,2000000000]]", "[[1]]", "[[0,1,2]]", "[null]", "[[0,1],[]]"} {
			if got := post(query, body).Code; got != http.StatusBadRequest {
				t.Errorf("%s %s: status %d, want %d", query, body, got, http.StatusBadRequest)
			}
		}
	}
	if got := post("?class=rings", "[[0,1]]").Code; got != http.StatusBadRequest {
		t.Errorf("a class that there is not: status %d, want %d", got, http.StatusBadRequest)
	}
	for i := range 1280 {
		if w := post("?class="+[]string{"ring", "tree"}[i%2], edges(5+i%13, i%2 == 0)); w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	// What was posted last may not have been learned yet.
	right := 0
	for end := time.Now().Add(20 * time.Second); right < 36 && time.Now().Before(end); {
		right = 0
		for i := range 40 {
			var a sinks.Answer
			w := post("", edges(6+i%11, i%2 == 0))
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || !strings.HasPrefix(w.Body.String(), `{"class":"`) {
				t.Fatalf("%s: %v", w.Body, err)
			}
			if a.Class == []string{"ring", "tree"}[i%2] {
				right++
			}
		}
	}
	if right < 36 {
		t.Errorf("%d of 40 answers are right", right)
	}
	gone, leave := context.WithCancel(ctx)
	leave()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodPost, "/", strings.NewReader("[[0,1]]")))
	if w.Code == http.StatusOK {
		t.Errorf("what cannot be answered is answered with %q", w.Body)
	}
	stop()
}
