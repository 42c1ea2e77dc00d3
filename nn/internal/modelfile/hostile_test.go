package modelfile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"github.com/sanflow/sanflow/internal/race"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Whatever bit of a file is flipped, and wherever it ends too soon or too late, it is refused. In the
// header, with the notes of the user, each byte has one bit flipped in turn and that of upper case; of
// the tensors every seventh byte, which is one of each tensor. If SANFLOW_LONG is set it is every bit
// of the header, and one of every second byte of the tensors.
func TestEveryBitIsCovered(t *testing.T) {
	race.Skip(t)
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	const upper = 5 // by which a hexadecimal digit or a name may be read as before
	long := os.Getenv("SANFLOW_LONG") != ""
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			header := 8 + int(binary.LittleEndian.Uint64(k.file))
			bad := bytes.Clone(k.file)
			inHeader, inTensors := 1, 7 // the steps
			if long {
				inTensors = 1
			}
			if strings.ContainsAny(k.name, ", ") { // another of its kind
				inHeader, inTensors = 7, max(7, inTensors)
			}
			for at := range bad {
				if at < header && at%inHeader > 0 || at >= header && at%inTensors > 0 {
					continue
				}
				for bit := range 8 {
					if at < header && !long && bit != at%8 && bit != upper || at >= header && (long && at%16 != bit || !long && at%8 != bit) {
						continue
					}
					bad[at] ^= 1 << bit
					if _, err := k.ask(bad); err == nil {
						t.Fatalf("bit %d of byte %d of %d was flipped, and the file was loaded", bit, at, len(bad))
					}
					bad[at] ^= 1 << bit
				}
				if at%5 > 0 {
					continue
				}
				if _, err := k.ask(bad[:at]); err == nil {
					t.Fatalf("the first %d of %d bytes were loaded", at, len(bad))
				}
			}
			if _, err := k.ask(append(bad, 0)); err == nil {
				t.Error("a byte more was loaded")
			}
		})
	}
}

// rawFile is a file that anything can be done to.
type rawFile struct {
	header map[string]any
	meta   map[string]any // of the header
	data   []byte
}

func open(t *testing.T, file []byte) rawFile {
	t.Helper()
	n := 8 + int(binary.LittleEndian.Uint64(file))
	f := rawFile{data: file[n:]}
	check(t, json.Unmarshal(file[8:n], &f.header))
	f.meta = f.header["__metadata__"].(map[string]any)
	return f
}

// bytes returns the file with the checksum that it should have.
func (f rawFile) bytes(t *testing.T) []byte {
	t.Helper()
	zeros := strings.Repeat("0", 2*sha256.Size)
	f.meta["sanflow.sha256"] = zeros
	text, err := json.Marshal(f.header)
	check(t, err)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	file = append(append(file, text...), f.data...)
	sum := sha256.Sum256(file)
	return bytes.Replace(file, []byte(zeros), []byte(hex.EncodeToString(sum[:])), 1)
}

// claims calls f with each way to change v, a value of JSON, in one place.
func claims(v any, path string, f func(path string, v any)) {
	switch v := v.(type) {
	case float64:
		// A bias may be any number that is not too large.
		for _, x := range []float64{1e308, -1e308, 1 << 62, 1 << 63, 1e11, 1 << 31, 1e9, 1e6, 0, -1, 1, 2, v + 1, v / 2} {
			if !strings.Contains(path, "bias") || math.Abs(x) >= 1e6 {
				f(fmt.Sprint(path, " = ", x), x)
			}
		}
	case bool:
		f(fmt.Sprint(path, " = ", !v), !v)
	case string:
		for _, x := range []string{"", "x", v + v} {
			f(fmt.Sprintf("%s = %q", path, x), x)
		}
	case []any:
		turned, zeros := slices.Clone(v), make([]any, len(v))
		slices.Reverse(turned)
		for i := range zeros {
			zeros[i] = 0
		}
		for what, x := range map[string][]any{" turned": turned, " of zeros": zeros, " twice": append(slices.Clone(v), v...), " empty": {}} {
			if !strings.HasSuffix(path, "bias") || len(x) != len(v) {
				f(path+what, x)
			}
		}
		for i, one := range v {
			claims(one, fmt.Sprintf("%s[%d]", path, i), func(path string, x any) {
				list := slices.Clone(v)
				list[i] = x
				f(path, list)
			})
		}
		f(path+" without its last", v[:max(0, len(v)-1)])
	case map[string]any:
		for key, one := range v {
			claims(one, path+"."+key, func(path string, x any) {
				all := maps.Clone(v)
				all[key] = x
				f(path, all)
			})
			all := maps.Clone(v)
			delete(all, key)
			f(path+" without "+key, all)
		}
	}
	f(path+" = null", nil)
}

// Whatever a header claims, with a checksum that fits, the file is refused, or the
// model answers as before; and neither takes more memory than the file can ask for.
func TestHeaderClaims(t *testing.T) {
	race.Skip(t)
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			want, err := k.ask(k.file)
			check(t, err)
			if got, err := k.ask(open(t, k.file).bytes(t)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("the same file again: %v, %v, want %v", got, err, want)
			}
			tried, refused := 0, 0
			try := func(path string, file []byte) {
				tried++
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got, err := k.ask(file)
				runtime.ReadMemStats(&after)
				if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
					t.Errorf("%s: %d bytes were taken for a file of %d (%v)", path, taken, len(file), err)
				}
				if err != nil {
					refused++
				} else if !slices.Equal(got, want) && !renamed(k.name, path) {
					t.Errorf("%s: the model answers %v, want %v or an error", path, got, want)
				}
			}
			f := open(t, k.file)
			for key, text := range maps.Clone(f.meta) {
				if key == "sanflow.sha256" || key == "sanflow.kernels" {
					continue
				}
				var v any
				if json.Unmarshal([]byte(text.(string)), &v) != nil || key == "sanflow.version" {
					v = text
				}
				claims(v, key, func(path string, x any) {
					s, ok := x.(string)
					if _, is := v.(string); !ok || !is || key == "sanflow.note" {
						b, err := json.Marshal(x)
						check(t, err)
						s = string(b)
					}
					f.meta[key] = s
					try(path, f.bytes(t))
				})
				f.meta[key] = text
			}
			for name, entry := range maps.Clone(f.header) {
				if name != "__metadata__" {
					claims(entry, name, func(path string, x any) {
						f.header[name] = x
						try(path, f.bytes(t))
					})
					f.header[name] = entry
				}
			}
			t.Logf("%d of %d claims were refused", refused, tried)
		})
	}
}

// renamed reports whether a claim is one that a machine on a matrix cannot know: its
// file has neither the names of its classes nor the similarities that a bias is as
// large as.
func renamed(kind, path string) bool {
	return kind == "svm, matrix" && (strings.Contains(path, ".classes[") || strings.Contains(path, ".bias[") && !strings.Contains(path, "e+308"))
}

// A number that is not finite in the place of the first of each tensor is refused, and
// so is one that cannot be. An id may be any number, and a count whose minima are added
// up, or the x of a split of trees, any that is finite.
func TestTensorClaims(t *testing.T) {
	for _, k := range kinds(t) {
		f := open(t, k.file)
		for name, entry := range f.header {
			e, ok := entry.(map[string]any)
			if name == "__metadata__" || !ok {
				continue
			}
			at := int(e["data_offsets"].([]any)[0].(float64))
			was := f.data
			for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e308} {
				var b []byte
				switch e["dtype"] {
				case "F32":
					b = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
				case "F64":
					b = binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
				default:
					b = bytes.Repeat([]byte{255}, 8)
				}
				f.data = bytes.Clone(was)
				copy(f.data[at:], b)
				if got, err := k.ask(f.bytes(t)); err == nil && !slices.Contains([]string{"vectors.ids", "ids"}, name) && (x != 1e308 || k.name != "svm, min" && name != "x") {
					t.Errorf("%s: %s[0] = %v: the model answers %v", k.name, name, x, got)
				}
			}
			f.data = was
		}
	}
}

// A file of another version is refused by its number.
func TestVersion(t *testing.T) {
	for _, k := range kinds(t) {
		want, other := "4", "5"
		if strings.HasPrefix(k.name, "checkpoint") {
			want, other = other, want
		}
		for _, version := range []string{"1", "2", "3", "99", other} {
			f := open(t, k.file)
			f.meta["sanflow.version"] = version
			if _, err := k.ask(f.bytes(t)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %q, want %q", version, want)) {
				t.Errorf("%s: version %s: %v", k.name, version, err)
			}
		}
		f := open(t, k.file)
		delete(f.meta, "sanflow.version")
		if _, err := k.ask(f.bytes(t)); err == nil || !strings.Contains(err.Error(), "no sanflow.version") {
			t.Errorf("%s: no version: %v", k.name, err)
		}
	}
}
