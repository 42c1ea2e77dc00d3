package nn

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
)

// saveCoder writes a safetensors file of the weights, with settings and info as
// its metadata. The same model gives the same bytes.
func saveCoder(w io.Writer, model string, settings any, info map[string]string, p *params) error {
	set, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	meta := map[string]string{metaModel: model, metaVersion: fileVersion, metaSettings: string(set)}
	list := p.tensors()
	if err := checkFinite(list); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	meta[metaSum] = checksum(meta, list)
	for k, v := range info {
		if k == "" || strings.HasPrefix(k, metaPrefix) {
			return fmt.Errorf("nn: save: Info has the key %q, want one that is not empty and does not begin with %q", k, metaPrefix)
		}
		meta[k] = v
	}
	return writeTensors(w, meta, list)
}

// loadCoder reads what saveCoder wrote: it fills settings, lets build lay out
// the weights that those call for, and returns them with the info. Nothing is
// believed before the checksum has been compared.
func loadCoder(r io.Reader, model string, settings any, build func() (*params, error)) (list []tensorData, info map[string]string, err error) {
	meta, list, err := readTensors(r)
	if err != nil {
		return nil, nil, err
	}
	if meta[metaModel] != model {
		return nil, nil, fmt.Errorf("nn: load: the file holds a model %q, want %q", meta[metaModel], model)
	}
	if meta[metaVersion] != fileVersion {
		return nil, nil, fmt.Errorf("nn: load: the file is of version %q, want %q", meta[metaVersion], fileVersion)
	}
	if err := strictJSON([]byte(meta[metaSettings]), settings); err != nil {
		return nil, nil, fmt.Errorf("nn: load: settings: %w", err)
	}
	p, err := build()
	if err != nil {
		return nil, nil, fmt.Errorf("nn: load: %w", err)
	}
	if err := p.fits(list); err != nil {
		return nil, nil, fmt.Errorf("nn: load: %w", err)
	}
	if err := checkFinite(list); err != nil {
		return nil, nil, fmt.Errorf("nn: load: %w", err)
	}
	if got := checksum(meta, list); got != meta[metaSum] {
		return nil, nil, fmt.Errorf("nn: load: the file is damaged: its checksum is %s, want %q", got, meta[metaSum])
	}
	info = maps.Clone(meta)
	maps.DeleteFunc(info, func(k, _ string) bool { return strings.HasPrefix(k, metaPrefix) })
	return list, info, nil
}

// set gives the weights the values of a file that fits.
func (p *params) set(list []tensorData) {
	for i, t := range list {
		copy(p.list[i].w, t.x)
	}
}
