package parquet

import "bytes"

// Pages returns where the pages of a file are, without their headers.
func Pages(file []byte) (spans [][2]int, err error) {
	d, err := newReader(bytes.NewReader(file), int64(len(file)), nil)
	if err != nil {
		return nil, err
	}
	for _, g := range d.footer.groups {
		for _, k := range g.chunks {
			at := int(k.data)
			if k.hasDictionary && k.dictionary > 0 {
				at = min(at, int(k.dictionary))
			}
			for end := at + int(k.bytes); at < end; {
				c := &compact{b: file[at:end]}
				h := c.header()
				at += c.at
				spans = append(spans, [2]int{at, at + h.packed})
				at += h.packed
			}
		}
	}
	return spans, nil
}
