package nn

import (
	"encoding/json"
	"fmt"
	"io"
)

// saveCoder writes a safetensors file of the weights, with settings and info as
// its metadata. The same model gives the same bytes.
func saveCoder(w io.Writer, model string, settings any, info map[string]string, p *params) error {
	set, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return p.save(w, map[string]string{metaModel: model, metaVersion: fileVersion, metaSettings: string(set)}, info)
}

// loadCoder reads what saveCoder wrote: it fills settings, lets build lay out
// the weights that those call for, and returns them with the info. Nothing is
// believed before the checksum has been compared.
func loadCoder(r io.Reader, model string, settings any, build func() (*params, error)) (list []tensorData, info map[string]string, err error) {
	meta, list, err := readTensors(r)
	if err != nil {
		return nil, nil, err
	}
	if err := checkKind(meta, model); err != nil {
		return nil, nil, fmt.Errorf("nn: load: %w", err)
	}
	if err := strictJSON([]byte(meta[metaSettings]), settings); err != nil {
		return nil, nil, fmt.Errorf("nn: load: settings: %w", err)
	}
	p, err := build()
	if err != nil {
		return nil, nil, fmt.Errorf("nn: load: %w", err)
	}
	if err := p.verify(meta, list); err != nil {
		return nil, nil, fmt.Errorf("nn: load: %w", err)
	}
	return list, userInfo(meta), nil
}
