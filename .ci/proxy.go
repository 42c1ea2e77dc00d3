// Proxy writes the modules of the tree as a module proxy: go run .ci/proxy.go DIRECTORY VERSION.
// A test of the release builds an importer against it.
package main

import (
	"archive/zip"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: go run .ci/proxy.go DIRECTORY VERSION")
	}
	listed, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		log.Fatal(err)
	}
	files := strings.Fields(string(listed))
	var modules []string // their directories
	for _, f := range files {
		if path.Base(f) == "go.mod" {
			modules = append(modules, path.Dir(f))
		}
	}
	for _, dir := range modules {
		if err := write(os.Args[1], os.Args[2], dir, modules, files); err != nil {
			log.Fatal(err)
		}
	}
}

// inside is the directory of the module that a file belongs to.
func inside(file string, modules []string) string {
	best := "."
	for _, m := range modules {
		if strings.HasPrefix(file, m+"/") && (best == "." || len(m) > len(best)) {
			best = m
		}
	}
	return best
}

func write(proxy, version, dir string, modules, files []string) error {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	name := path.Join("github.com/sanflow/sanflow", dir)
	at := filepath.Join(proxy, filepath.FromSlash(name), "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	defer out.Close()
	z := zip.NewWriter(out)
	for _, f := range files {
		if inside(f, modules) != dir {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		w, err := z.Create(name + "@" + version + "/" + strings.TrimPrefix(f, dir+"/"))
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	for suffix, text := range map[string]string{".mod": string(mod), ".info": fmt.Sprintf(`{"Version": %q}`, version)} {
		if err := os.WriteFile(filepath.Join(at, version+suffix), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(at, "list"), []byte(version+"\n"), 0o666)
}
