package events_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/events"
)

// A date is one time, or none, in a table of events and in a table of rows.
func TestDatesOfTables(t *testing.T) {
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC).Unix()
	clocks := map[string]float64{
		"": -1, "x": -1, "7": -1, "07:08": 25680, "7:08": 25680, "07:8": -1, "07:08:09": 25689, "07:08:09.5": 25689.5, "07:08:9": -1,
		"24:00": -1, "07:60": -1, "07:08:60": -1,
	}
	zones := map[string]float64{
		"": 0, "Z": 0, "UTC": 0, " Z": 0, " UTC": 0, "+01": -3600, " +01": -3600, "-0130": 5400, "-01:30": 5400, " +01:00": -3600,
		"z": -1, "CET": -1, "+1": -1, "+010": -1, "  Z": -1, "+01:00:00": -1,
	}
	want := map[string]float64{"2024-02-29": 0, "2024-02-30": -1, "2024-2-29": -1, "24-02-29": -1, "29.02.2024": -1, "2024-02-29T": -1, "2024-02-29Z": -1, "2024/02/29": -1}
	for _, between := range []string{"T", " ", "t", ""} {
		for clock, seconds := range clocks {
			for zone, shift := range zones {
				text := "2024-02-29" + between + clock + zone
				if want[text] = seconds + shift; seconds < 0 || shift == -1 || between == "t" || between == "" {
					want[text] = -1
				}
			}
		}
	}
	delete(want, "2024-02-29")
	for text, seconds := range want {
		if strings.TrimSpace(text) != text {
			continue // tables of text cut blanks off
		}
		of, ok := -1., false
		if x, dates, err := sources.ParseTime(text); err == nil {
			of, ok = x-float64(day), dates
		}
		list, _, err := read(events.Source{Table: sources.JSONLines{Path: "x", Reader: strings.NewReader(fmt.Sprintf("{\"from\":1,\"to\":2,\"time\":%q}\n", text))}, Columns: events.Columns{Scale: 2}})
		event := -1.
		if err == nil {
			half, _ := strconv.ParseInt(strings.Fields(list[0])[0], 10, 64)
			event = float64(half-2*day) / 2
		}
		if of != seconds || ok != (seconds != -1) || event != seconds {
			t.Errorf("%q is %v in a table of rows and %v in one of events, want %v", text, of, event, seconds)
		}
	}
}
