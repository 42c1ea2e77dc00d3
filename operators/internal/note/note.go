// Package note has the names of events in flow.StageStats. All except those of the cache are the
// same at any number of workers. If both fallbacks and Refined are 0, no field depends on node
// numbers.
package note

// Notes of operators.Normalize; field.Stats documents them.
const (
	Fields        = "fields"
	CropFallback  = "crop fallbacks"  // cuts decided by node numbers; see field.Stats
	CanonFallback = "canon fallbacks" // orders decided by node numbers; see field.Stats
	Refined       = "canon refined"   // orders by package canon's fallback search; see field.Stats
	Searches      = "searches"        // ties at the cut to k nodes that needed a search
	Canon         = "canon"           // canonical orders
	CacheLookups  = "cache lookups"
	CacheHits     = "cache hits"
)

// Unseen is the note of operators.Expect that counts values whose word the layout does not have.
const Unseen = "unseen words"
