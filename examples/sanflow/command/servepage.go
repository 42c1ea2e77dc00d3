package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sanflow/sanflow/sinks/live"
	"github.com/sanflow/sanflow/sinks/now"
	"github.com/sanflow/sanflow/sinks/page"
)

// prefersHTML reports whether a header Accept asks for HTML before JSON: by a larger q, or by an equal one that stands first.
func prefersHTML(accept string) bool {
	html, json := 0.0, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		kind, settings, err := mime.ParseMediaType(part)
		q, wrong := strconv.ParseFloat(settings["q"], 64)
		if wrong != nil {
			q = 1
		}
		switch {
		case err != nil:
		case kind == "text/html" && q > json:
			html = q
		case (kind == "application/json" || kind == "application/*" || kind == "*/*") && q > json:
			json = q
		}
	}
	return html > 0 && html >= json
}

// query is the question of a request by GET, as a body.
func (s *server) query(r *http.Request) ([]byte, error) {
	var ids []any
	for _, id := range r.URL.Query()["id"] {
		ids = append(ids, id)
	}
	if s.task == "links" {
		pairs := slices.Collect(slices.Chunk(ids, 2))
		ids = ids[:0:0]
		for _, pair := range pairs {
			ids = append(ids, pair)
		}
	}
	if len(ids) == 0 || s.task == "graphs" {
		return nil, fail(http.StatusBadRequest, "want %s?id=ID, of links ?id=A&id=B; graphs and rows that are not stored come by POST", r.URL.Path)
	}
	return json.Marshal(map[string]any{"ids": ids})
}

// html is answers as a page: with their reasons, or in a table.
func (s *server) html(m *loaded, all []answer, why bool) ([]byte, error) {
	kind := map[string]string{"rows": "Row", "nodes": "Node", "links": "Link", "graphs": "Graph"}[s.task]
	var b bytes.Buffer
	if why {
		var reasons page.Explanations
		for i := range all {
			e := m.page(&all[i], i)
			e.Title = kind + " " + e.ID
			reasons.All = append(reasons.All, e)
		}
		err := reasons.Write(&b)
		return b.Bytes(), err
	}
	t := page.Table{Head: []string{kind, "answer", "probability"}}
	for i, a := range all {
		if a.Targets == nil {
			t.Rows = append(t.Rows, append([]string{a.named(i)}, a.cells()...))
		}
		for _, target := range a.Targets {
			t.Rows = append(t.Rows, append([]string{a.named(i) + ", " + target.Name}, target.cells()...))
		}
	}
	err := page.Sheet{Title: "Answers of " + m.system, Tables: []page.Table{t}}.Write(&b)
	return b.Bytes(), err
}

// page is the explanation of an answer for people.
func (m *loaded) page(a *answer, i int) page.Explanation {
	e := pageOf(a.named(i), a.Reasons, m.p.Layout(), m.Times)
	if len(a.Targets) > 0 {
		e.Target = a.Targets[0].Name
		e.Tables = append(e.Tables, a.table("the first is explained"))
	}
	return e
}

// table is the answers for several targets.
func (a *answer) table(explained string) page.Table {
	t := page.Table{Title: "All targets; " + explained, Head: []string{"target", "answer", "probability"}}
	for _, one := range a.Targets {
		t.Rows = append(t.Rows, append([]string{one.Name}, one.cells()...))
	}
	return t
}

// named is what an answer is about, by default its number.
func (a *answer) named(i int) string {
	switch id := a.ID.(type) {
	case string:
		return id
	case json.Number:
		return id.String()
	}
	if a.P != nil {
		return fmt.Sprintf("%v–%v", a.Source, a.Target)
	}
	return strconv.Itoa(i + 1)
}

// cells are the answer and its probability.
func (a *answer) cells() []string {
	switch {
	case a.P != nil:
		return []string{"linked", fmt.Sprintf("%.4g", *a.P)}
	case a.Probs != nil:
		return []string{a.Class, fmt.Sprintf("%.4g", a.Probs[a.Class])}
	}
	return []string{fmt.Sprintf("%.6g", a.Value), ""}
}

// About tells the live page of what the server answers.
func (s *server) About() live.About {
	m, memory := s.now.Load(), memoryOf()
	half, most := s.stats.quantiles()
	about := live.About{Facts: []live.Fact{
		{Name: "requests", X: live.Number(s.stats.flow(0).Stages[0].RowsOut), Unit: "/s"},
		{Name: "half of the last 1024 within", X: live.Number(half.Seconds()), Unit: "s"},
		{Name: "99 % of these within", X: live.Number(most.Seconds()), Unit: "s"},
		{Name: "memory", X: live.Number(memory[1]), Unit: "B"},
		{Name: "objects", X: live.Number(memory[0]), Unit: "B"},
		{Name: "system", Text: cmp.Or(m.system, "unknown")},
		{Name: "model file, SHA-256", Text: m.fileSum[:12]},
	}}
	if s.live == nil {
		return about
	}
	of, events, absent := s.live.Stats(), int64(0), int64(0)
	for kind, n := range of.Events {
		events, absent = events+n, absent+of.Absent[kind]
	}
	about.Facts = append(about.Facts,
		live.Fact{Name: "position", Text: strconv.FormatInt(of.Position, 10)},
		live.Fact{Name: "events", X: live.Number(events), Unit: "/s"},
		live.Fact{Name: "mean time until answers know an event", X: live.Number(of.Lag.Seconds() / float64(events)), Unit: "s"},
		live.Fact{Name: "since the last event", X: live.Number(time.Since(of.Last).Seconds()), Unit: "s"},
		live.Fact{Name: "events that wait", X: live.Number(of.Waiting)},
		live.Fact{Name: "messages not received yet", X: live.Number(of.Behind)},
		live.Fact{Name: "events that changed nothing", X: live.Number(absent)},
		live.Fact{Name: "refused", X: live.Number(of.Refused)},
		live.Fact{Name: "windows", Text: cmp.Or(m.rows.Form().Window, m.Windows, "all rows")},
		live.Fact{Name: "store", X: live.Number(of.Bytes), Unit: "B"},
	)
	if of.Learned != nil {
		about.Charts, about.Notes = learned(of.Learned)
		about.Facts = append(about.Facts, live.Fact{Name: "next scores of what is learned", Text: fmt.Sprintf("after %d more classes", of.Learned.Left)})
	}
	return about
}

// learned is the accuracy of a model that learns, by window, and its alarms.
func learned(of *now.Learned) (charts []live.Chart, alarms []string) {
	lines := []live.Curve{{Name: "learner"}, {Name: "loaded model"}, {Name: "majority"}}
	for _, w := range of.Windows {
		for i, scores := range []now.Scores{w.Learner, w.Loaded, w.Majority} {
			lines[i].Points = append(lines[i].Points, [2]live.Number{live.Number(w.Until), live.Number(scores.Accuracy)})
		}
	}
	for _, a := range of.LastAlarms {
		alarms = append(alarms, a.String())
	}
	return []live.Chart{{Title: "Accuracy in time, before each lesson", Axis: "position", Top: 1, Lines: lines}}, alarms
}
