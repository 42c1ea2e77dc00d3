package jetstream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest/race"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// authority signs certificates for 127.0.0.1, whose files are in dir.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue(name, nil)
	return a
}

// issue writes NAME.pem and NAME.key.
func (a *authority) issue(name string, usage []x509.ExtKeyUsage) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	must := func(err error) {
		a.t.Helper()
		if err != nil {
			a.t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: usage, KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	must(err)
	text, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	must(os.WriteFile(a.path(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(os.WriteFile(a.path(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), 0o600))
	c, err = x509.ParseCertificate(der)
	must(err)
	return c, key
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// tlsFirst starts a broker that says nothing before TLS, and returns its address.
func tlsFirst(t *testing.T) string {
	t.Helper()
	a := newAuthority(t, "ca")
	a.issue("server", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth})
	pair, err := tls.LoadX509KeyPair(a.path("server.pem"), a.path("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	o := jettest.Options(t.TempDir(), 0)
	o.TLSConfig, o.TLS, o.TLSTimeout, o.TLSHandshakeFirst = &tls.Config{Certificates: []tls.Certificate{pair}}, true, 30, true
	return jettest.Start(t, o).Addr().String()
}

// A broker with certificates is used where they are right, on both sides; else that is said at once,
// and not after Patience.
func TestTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ca"), newAuthority(t, "ca")
	ours.issue("server", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth})
	ours.issue("client", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth})
	theirs.issue("client", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth})
	pair, err := tls.LoadX509KeyPair(ours.path("server.pem"), ours.path("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	o := jettest.Options(t.TempDir(), 0)
	o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	o.TLS, o.TLSTimeout = true, 30
	url := jettest.Start(t, o).ClientURL()
	c := jetstream.Connection{URL: url, CA: ours.path("ca.pem"), Cert: ours.path("client.pem"), Key: ours.path("client.key"), Patience: time.Hour}
	src := sources.Families{Graphs: 24, Rows: 4}
	if _, err := run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "s"}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, flow.From(jetstream.Source{Connection: c, Stream: "s", Ordered: true})); len(got) != 24 {
		t.Errorf("%d rows", len(got))
	}
	for _, bad := range []struct {
		what, want string
		set        func(*jetstream.Connection)
	}{
		{"no certificate authority", "certificate", func(c *jetstream.Connection) { c.CA = "" }},
		{"another authority", "certificate", func(c *jetstream.Connection) { c.CA = theirs.path("ca.pem") }},
		{"no certificate of the client", "certificate", func(c *jetstream.Connection) { c.Cert, c.Key = "", "" }},
		{"another one's certificate", "certificate", func(c *jetstream.Connection) {
			c.Cert, c.Key = theirs.path("client.pem"), theirs.path("client.key")
		}},
	} {
		c := c
		bad.set(&c)
		_, err := run(t, flow.From(jetstream.Source{Connection: c, Stream: "s", Ordered: true}), flow.Options{})
		wantError(t, bad.what, err, "s", bad.want)
		_, err = run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "s"}), flow.Options{})
		wantError(t, bad.what, err, "s", bad.want)
	}
}

// A user that is revoked while a stream is written, processed and read gets an error that
// says so.
func TestRevoked(t *testing.T) {
	if race.Enabled {
		t.Skip("nats-server 2.15 reads its options without a lock while they are loaded again")
	}
	t.Parallel()
	o := jettest.Options(t.TempDir(), 0)
	o.Username, o.Password = "ann", "secret"
	s := jettest.Start(t, o)
	ends(t, jetstream.Connection{URL: s.ClientURL()[:len("nats://")] + "ann:secret@" + s.Addr().String()}, func() {
		o.Password = "changed"
		if err := s.ReloadOptions(o.Clone()); err != nil {
			t.Error(err)
		}
	}, func() {
		o.Password = "secret"
		if err := s.ReloadOptions(o.Clone()); err != nil {
			t.Error(err)
		}
	}, "authorization violation")
}

// ends runs a writer, a worker and a reader, each until it has come to records after which its
// credentials are taken away; give gives them back.
func ends(t *testing.T, c jetstream.Connection, take, give func(), want string) {
	t.Helper()
	src := sources.Families{Graphs: 40, Rows: 4}
	_, err := run(t, flow.From(&interrupted{Source: src, at: 5, do: take}).To(sink.Sink{Connection: c, Stream: "s", Pending: 1}), flow.Options{})
	wantError(t, "written", err, "s", want)
	give()
	for _, queue := range []bool{true, false} {
		stream := map[bool]string{true: "queue", false: "kept"}[queue]
		if _, err := run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: stream, Queue: queue, NoEnd: true}), flow.Options{}); err != nil {
			t.Fatal(err)
		}
		from := jetstream.Source{Connection: c, Stream: stream, Ordered: !queue}
		if queue {
			from.Durable = "w"
		}
		_, err = run(t, flow.From(from).To(after(5, take)), flow.Options{})
		wantError(t, "read", err, stream, want)
		give()
	}
}

// A credential that expires during a read is an error that says so.
func TestExpires(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	operator, err := nkeys.CreateOperator()
	must(err)
	account, err := nkeys.CreateAccount()
	must(err)
	user, err := nkeys.CreateUser()
	must(err)
	public := func(k nkeys.KeyPair) string {
		text, err := k.PublicKey()
		must(err)
		return text
	}
	own := jwt.NewOperatorClaims(public(operator))
	claims := jwt.NewAccountClaims(public(account))
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1, MaxAckPending: -1}
	signed, err := claims.Encode(operator)
	must(err)
	text, err := own.Encode(operator)
	must(err)
	own, err = jwt.DecodeOperatorClaims(text)
	must(err)
	o := jettest.Options(t.TempDir(), 0)
	o.TrustedOperators = []*jwt.OperatorClaims{own}
	system, err := nkeys.CreateAccount() // without which there is no JetStream
	must(err)
	o.SystemAccount = public(system)
	text, err = jwt.NewAccountClaims(o.SystemAccount).Encode(operator)
	must(err)
	resolver := &server.MemAccResolver{}
	must(resolver.Store(public(account), signed))
	must(resolver.Store(o.SystemAccount, text))
	o.AccountResolver = resolver
	s := jettest.Start(t, o)

	credentials := func(expires time.Duration) jetstream.Connection {
		u := jwt.NewUserClaims(public(user))
		if expires != 0 {
			u.Expires = time.Now().Add(expires).Unix()
		}
		token, err := u.Encode(account)
		must(err)
		seed, err := user.Seed()
		must(err)
		file, err := jwt.FormatUserConfig(token, seed)
		must(err)
		path := filepath.Join(t.TempDir(), "user.creds")
		must(os.WriteFile(path, file, 0o600))
		return jetstream.Connection{URL: s.ClientURL(), Credentials: path}
	}
	src := sources.Families{Graphs: 24, Rows: 4}
	if _, err := run(t, flow.From(src).To(sink.Sink{Connection: credentials(0), Stream: "s", NoEnd: true}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	// It waits for more, until then.
	_, err = run(t, flow.From(jetstream.Source{Connection: credentials(2 * time.Second), Stream: "s", Ordered: true}).To(after(99, func() {})), flow.Options{})
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "expired") {
		wantError(t, "it expires", err, "s", "expired")
	} else { // the error of a reader that connected too late for it
		wantError(t, "it expires", err, "s", "authorization violation")
	}
	_, err = run(t, flow.From(jetstream.Source{Connection: credentials(-time.Hour), Stream: "s", Ordered: true}), flow.Options{})
	wantError(t, "it has expired", err, "s", "authorization violation")
}
