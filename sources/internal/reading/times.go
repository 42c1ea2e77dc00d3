package reading

import (
	"strings"
	"time"
)

// Date parses a date, optionally with a time after T or a blank: hours and minutes, optional seconds with a
// fraction, and an optional zone as Z, UTC, +07, +0700 or +07:00, with or without a blank before it. The
// default zone is UTC.
func Date(text string) (t time.Time, ok bool) {
	t, err := time.Parse(dateForm(text), text)
	return t, err == nil
}

// dateForm returns the layout with which time.Parse reads a date, with or without time and zone.
func dateForm(text string) string {
	day := len(time.DateOnly)
	if len(text) <= day {
		return time.DateOnly
	}
	clock, zone := text[day+1:], ""
	if i := strings.IndexAny(clock, "ZU +-"); i >= 0 {
		clock, zone = clock[:i], clock[i:]
	}
	form := time.DateOnly + "T15:04"
	if text[day] == ' ' {
		form = time.DateOnly + " 15:04"
	}
	if len(clock) > len("15:04") {
		form += ":05"
	}
	if strings.HasPrefix(zone, " ") {
		form, zone = form+" ", zone[1:]
	}
	switch {
	case zone == "" || zone == "Z" || zone == "UTC":
		return form + zone
	case len(zone) == len("-07"):
		return form + "-07"
	case len(zone) == len("-0700"):
		return form + "-0700"
	}
	return form + "-07:00"
}
