package operators

import "github.com/sanflow/sanflow/operators/field"

// Names of the notes of Normalize in flow.StageStats; field.Stats documents them. All except the
// notes of the cache are the same at any number of workers. If both fallbacks and "canon refined"
// are 0, no field depends on node numbers.
const (
	NoteFields        = "fields"
	NoteCropFallback  = "crop fallbacks"  // field.Stats.CropFallback
	NoteCanonFallback = "canon fallbacks" // field.Stats.Partial
	NoteRefined       = "canon refined"   // field.Stats.Refined
	NoteSearches      = "searches"        // ties at the cut to k nodes that took a search
	NoteCanon         = "canon"           // canonical orders computed
	NoteCacheLookups  = "cache lookups"
	NoteCacheHits     = "cache hits"
)

// NoteUnseen is the note of Expect that counts values whose word the layout does not have. It
// is the same at any number of workers.
const NoteUnseen = "unseen words"

// notes implements noter.
func (z *normalizer) notes(note func(event string, n int64)) {
	s := z.norm.Stats
	z.norm.Stats = field.Stats{}
	all := [...]struct {
		event string
		n     int64
	}{
		{NoteFields, s.Fields}, {NoteCropFallback, s.CropFallback}, {NoteCanonFallback, s.Partial}, {NoteRefined, s.Refined},
		{NoteSearches, s.Searches}, {NoteCanon, s.Canon}, {NoteCacheLookups, s.CacheLookups}, {NoteCacheHits, s.CacheHits},
	}
	for _, c := range all {
		if c.n != 0 || !z.noted { // once each, and then what has changed: it takes a lock
			note(c.event, c.n)
		}
	}
	z.noted = true
}
