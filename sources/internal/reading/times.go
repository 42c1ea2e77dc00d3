package reading

import (
	"strings"
	"time"
)

// Date reads a point of time: a day, or behind it T or a blank, hours and minutes, seconds with or without a fraction,
// and a time zone as Z, UTC, +07, +0700 or +07:00, with or without a blank before it. A time without a zone is in UTC.
func Date(text string) (t time.Time, ok bool) {
	t, err := time.Parse(dateForm(text), text)
	return t, err == nil
}

// dateForm is the form of a point of time, as time.Parse wants it.
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
