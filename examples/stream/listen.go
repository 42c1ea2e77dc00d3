package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// online learns from posted graphs and classifies posted graphs.
func online(ctx context.Context) http.HandlerFunc {
	classes, graphs := []string{"ring", "tree"}, make(chan sources.Item)
	layout, net, model := record.Layout{Classes: classes}, &nn.CNN{Dropout: -1}, atomic.Pointer[sinks.Predictor]{}
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 20}, operators.Normalize{K: 8}}
	publish := func(nn.Result) error { // the model of each step answers the next requests
		if p := model.Load(); p != nil {
			return p.Update(net)
		}
		p, err := sinks.NewPredictor(net, recipe)
		model.Store(p)
		return err
	}
	p := recipe.Onto(flow.From(sources.Seq{Chan: graphs, Layout: layout})).
		Via(operators.Batch{Size: 16, MaxWait: time.Second}).To(sinks.Train{Net: net, OnStep: publish})
	go func() { log.Print(p.Run(ctx)) }()
	return func(w http.ResponseWriter, r *http.Request) {
		edges, b, class := [][]int32{}, sources.Builder{MaxNodes: 1000}, slices.Index(append(classes, ""), r.URL.Query().Get("class"))
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&edges)
		for _, e := range edges {
			if len(e) != 2 {
				class = -1
				break
			}
			b.Edge(e[0], e[1])
		}
		if g, bad := b.Graph(); err != nil || bad != nil || class < 0 {
			http.Error(w, "want edges, and as class ring, tree or none", http.StatusBadRequest)
		} else if class < len(classes) {
			graphs <- sources.Item{Graph: g, Class: int32(class)}
		} else if p := model.Load(); p == nil {
			http.Error(w, "nothing was learned yet", http.StatusServiceUnavailable)
		} else if answer, err := p.Predict(r.Context(), g); err != nil || json.NewEncoder(w).Encode(answer) != nil {
			http.Error(w, "there is no answer", http.StatusUnprocessableEntity)
		}
	}
}
