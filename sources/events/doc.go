// Package events reads changes of a graph: edges that arrive and leave, attributes that
// are set, classes that become known, each with a time.
//
//	s, err := events.Source{Table: sources.Text{Path: "mail.txt.gz"}, Order: events.Sort}.Open(ctx)
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	for e, err := range s.All() {
//		if err != nil {
//			return err
//		}
//		fmt.Println(e.Time, s.Name(e.Source), s.Name(e.Target))
//	}
//
// The rows are those of any sources.Table: [sources.Text], [sources.CSV],
// [sources.JSONLines], parquet.Table, and sources.RecordTable, which reads any reader of
// Arrow records. Events that a program has by other ways need no source: an
// iter.Seq2[event.Event, error] is what everything behind takes. operators.Evolve makes records
// of the fields that they change.
//
// # Time
//
// A time is an integer in the unit of the stream. A number with a fraction is rounded
// down, which is counted, and a date of ISO 8601 or RFC 3339 becomes seconds since 1970. A date is a day, 2006-01-02, or
// behind it T or a blank, hours and minutes, seconds with or without a fraction, and a time zone as Z, UTC, +07, +0700
// or +07:00, which is UTC if there is none. Columns.Scale has such times in smaller units.
//
// An event with an earlier time than the one before it is late. By Order, it is refused with its file and
// line, or the table is sorted first, in memory, up to MaxSorted events.
//
// # Repetitions
//
// Two events with the same ends and time are two occurrences of an edge.
//
// # Ids
//
// Nodes are numbered from 0 in the order in which they stand in the table. Ids are
// integers where all of them are, and strings else.
package events
