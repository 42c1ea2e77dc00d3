module github.com/sanflow/sanflow

go 1.26.0

require (
	github.com/apache/arrow/go/v15 v15.0.2 // records between stages
	github.com/go-json-experiment/json v1.27.2 // sources: JSON by package jsontext
	github.com/klauspost/compress v1.20.3 // files: zstd and Snappy into memory of a known size
	github.com/pierrec/lz4/v4 v4.1.33 // files: LZ4
	github.com/posener/complete v1.2.3 // examples: shells complete the command
	github.com/reugn/go-streams v0.13.0 // the stages of a pipeline
	github.com/schollz/progressbar/v3 v3.19.1 // examples only
	go.etcd.io/bbolt v1.4.0 // sinks/now: the store of events
	go.uber.org/goleak v1.3.0 // internal/leak and so all tests: no goroutine outlives a run
	golang.org/x/sync v0.24.0 // examples only: the memory of requests
	golang.org/x/sys v0.49.0 // which kernels the processor has
	gonum.org/v1/gonum v0.17.0 // sources/dot: the parser; examples: statistics; tests: the peer of our algorithms and readers
	gonum.org/v1/plot v0.17.0 // pictures, examples only
	gorgonia.org/tensor v0.9.24 // what enters and leaves nn
	pgregory.net/rapid v1.3.0 // tests: properties
)

// tensor refuses to start under Go 1.21 and later with an older revision.
require go4.org/unsafe/assume-no-moving-gc v0.0.0-20231121144256-b99613f794b6 // indirect

// Indirect ones are raised above what Arrow v15 asks for, which is old and has
// known advisories.
require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/apache/arrow/go/arrow v0.0.0-20201229220542-30ce2eb5d4dc // indirect
	github.com/chewxy/hm v1.0.0 // indirect
	github.com/chewxy/math32 v1.0.8 // indirect
	github.com/goccy/go-json v0.12.0 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/google/flatbuffers v25.12.19+incompatible
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/hashicorp/go-multierror v1.0.0 // indirect
	github.com/klauspost/cpuid/v2 v2.2.5 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/xtgo/set v1.0.0 // indirect
	github.com/zeebo/xxh3 v1.0.2 // indirect
	golang.org/x/exp v0.0.0-20231110203233-9a3e6036ecaa // indirect
	golang.org/x/image v0.30.0 // indirect
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/telemetry v0.0.0-20260924152758-ed294f943157 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	golang.org/x/xerrors v0.0.0-20220907171357-04be3eba64a2 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	gorgonia.org/vecf32 v0.9.0 // indirect
	gorgonia.org/vecf64 v0.9.0 // indirect
)

// Those of Arrow's Parquet, whose files the tests of sources/parquet read; raised
// likewise. Nothing but these tests links them.
require (
	github.com/JohnCGriffin/overflow v0.0.0-20211019200055-46fa312c352c // indirect
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/apache/thrift v0.25.0 // indirect
	github.com/golang/snappy v1.0.0 // indirect
	github.com/klauspost/asmfmt v1.3.2 // indirect
	github.com/minio/asm2plan9s v0.0.0-20200509001527-cdd76441f9d8 // indirect
	github.com/minio/c2goasm v0.0.0-20190812172519-36a3d3bbc4f3 // indirect
)
