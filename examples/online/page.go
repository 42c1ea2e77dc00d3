package main

import (
	"context"
	"net/http"

	"github.com/sanflow/sanflow/sinks/live"
)

// withPage has the page of the pipeline beside what learns and answers.
func withPage(ctx context.Context) http.Handler {
	page, mux := &live.Page{Name: "online"}, http.NewServeMux()
	mux.Handle("/live/", page)
	mux.Handle("/", online(page.Watch(ctx)))
	return mux
}
