package command

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

// FuzzPredictBody posts any body to servers of graphs, of nodes and of links: the answer is
// JSON, or one line with a documented status.
func FuzzPredictBody(f *testing.F) {
	clitest.Silence(f)
	dir, data := f.TempDir(), village(f)
	var servers []*server
	for _, task := range []string{"graphs", "nodes", "links"} {
		model := filepath.Join(dir, task)
		train, ask := []string{"train", "-task", task, "-systems", "linear", "-out", model}, []string{"-model", model, "-max-body", "5000", "-max-ids", "50"}
		if task != "graphs" {
			train, ask = append(train, "-data", data), append(ask, "-data", data)
		}
		must(f, train...)
		s, _ := started(f, ask...)
		servers = append(servers, s)
	}
	for _, body := range []string{
		`{"id": [1], "nodes": [{"id": 1, "type": "C"}, {"id": 2}], "edges": [{"source": 1, "target": 2}], "ids": [2, 1]}`,
		`{"nodes": [{"id": "\ud83d\ude00"}, {}], "links": [{"source": "\ud83d\ude00", "target": 9223372036854775807}]}`,
		`{"ids": [["1", 2]], "edges": [{"source": 1, "target": 2}]}`,
		`{"ids": [1, 1, 59, "0"]}`, `{"ids": [-1]}`, `{"ids": [[1, 2, 3]]}`, "{\"ids\": [[1,\n2]]}", "{\"ids\": [[1,\n2, 3]]}", `{"ids": null, "nodes": []}`, `{"nodes": [[[[[`, `[]`, ``,
		`{"directed": true, "nodes": [{"id": 1, "id": 2}]}`, `{"nodes": 1}`, "{\"ids\": [\"\xff\"]}", `{"graph": {"x": 1e999}, "nodes": [{"id": 1}]}`,
		`{"edges": [` + strings.Repeat(`{"source":1,"target":2},`, 100) + `{"source":1,"target":1}]}`,
		`{"ids": [` + strings.Repeat(`1,`, 50) + `1]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, s := range servers {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", "/predict", bytes.NewReader(body))
			r.Host = "localhost"
			s.handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
			text := strings.TrimSuffix(w.Body.String(), "\n")
			if w.Code == 200 {
				var all []answer
				if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) == 0 {
					t.Errorf("%s: %q: %q, %v", s.task, body, text, err)
				}
			} else if !slices.Contains([]int{400, 413, 422, 503}, w.Code) || text == "" || strings.Contains(text, "\n") {
				t.Errorf("%s: %q: status %d, %q", s.task, body, w.Code, text)
			}
		}
	})
}
