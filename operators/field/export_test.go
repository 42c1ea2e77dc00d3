package field

// General makes z compute every field in the general way, which is the
// reference for the one on words.
func General(z *Normalizer) { z.general = true }
