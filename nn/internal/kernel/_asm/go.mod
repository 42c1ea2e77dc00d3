// A module of its own, so that users of sanflow do not inherit the generator.
module github.com/sanflow/sanflow/nn/internal/kernel/_asm

go 1.26.0

require github.com/mmcloughlin/avo v0.6.0

require (
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/tools v0.51.0 // indirect; avo's own v0.16.1 does not compile with Go 1.26
)
