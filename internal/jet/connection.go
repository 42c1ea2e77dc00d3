package jet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Connection is that of sources/jetstream, which documents the fields.
type Connection struct {
	URL, Context, Credentials string
	CA, Cert, Key             string
	Patience                  time.Duration
	Replicas                  int
	Options                   []nats.Option
	Logger                    *slog.Logger
}

func (c Connection) withDefaults() Connection {
	c.Patience = cmp.Or(c.Patience, 2*time.Minute)
	c.Replicas = cmp.Or(c.Replicas, 1)
	return c
}

// Check looks at the settings, and the files that they name.
func (c Connection) Check() error {
	switch {
	case c.Patience < 0:
		return fmt.Errorf("Patience is %v, want 0 or more", c.Patience)
	case c.Replicas < 0 || c.Replicas > 5:
		return fmt.Errorf("Replicas is %d, want 0 to 5", c.Replicas)
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("Cert and Key belong together: one of them is missing")
	}
	_, _, err := c.options()
	return err
}

// natsContext is a file of the nats command.
type natsContext struct {
	URL      string `json:"url"`
	Token    string `json:"token"`
	User     string `json:"user"`
	Password string `json:"password"`
	Creds    string `json:"creds"`
	NKey     string `json:"nkey"`
	Cert     string `json:"cert"`
	Key      string `json:"key"`
	CA       string `json:"ca"`
	Inbox    string `json:"inbox_prefix"`
	First    bool   `json:"tls_first"`
}

// options returns the servers, and what the client is to be told.
func (c Connection) options() (url string, o []nats.Option, err error) {
	var k natsContext
	if c.Context != "" {
		if k, err = readContext(c.Context); err != nil {
			return "", nil, fmt.Errorf("Context: %w", err)
		}
	}
	url = cmp.Or(c.URL, k.URL, nats.DefaultURL)
	creds, ca := home(cmp.Or(c.Credentials, k.Creds)), home(cmp.Or(c.CA, k.CA))
	cert, key := home(cmp.Or(c.Cert, k.Cert)), home(cmp.Or(c.Key, k.Key))
	for _, name := range []string{creds, ca, cert, key, home(k.NKey)} {
		if name != "" {
			if _, err := os.Stat(name); err != nil {
				return "", nil, err
			}
		}
	}
	if creds != "" {
		o = append(o, nats.UserCredentials(creds))
	}
	if ca != "" {
		o = append(o, nats.RootCAs(ca))
	}
	if cert != "" {
		o = append(o, nats.ClientCert(cert, key))
	}
	if k.User != "" {
		o = append(o, nats.UserInfo(k.User, k.Password))
	}
	if k.Token != "" {
		o = append(o, nats.Token(k.Token))
	}
	if k.NKey != "" {
		nkey, err := nats.NkeyOptionFromSeed(home(k.NKey))
		if err != nil {
			return "", nil, err
		}
		o = append(o, nkey)
	}
	if k.Inbox != "" {
		o = append(o, nats.CustomInboxPrefix(k.Inbox))
	}
	if k.First {
		o = append(o, nats.TLSHandshakeFirst())
	}
	return url, append(o, c.Options...), nil
}

// readContext reads the file of a context, where the nats command keeps it.
func readContext(name string) (k natsContext, err error) {
	if !strings.ContainsAny(name, `/\`) && !strings.HasSuffix(name, ".json") {
		dir := os.Getenv("XDG_CONFIG_HOME")
		if dir == "" {
			h, err := os.UserHomeDir()
			if err != nil {
				return k, err
			}
			dir = filepath.Join(h, ".config")
		}
		name = filepath.Join(dir, "nats", "context", name+".json")
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(b, &k); err != nil {
		return k, fmt.Errorf("%s: %w", name, err)
	}
	return k, nil
}

// home replaces ~ at the beginning of a path, as the nats command does.
func home(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(h, rest)
}
