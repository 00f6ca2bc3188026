package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/plain"
)

// renewBefore is how long before its end a certificate should have been renewed; for a
// short-lived one it is a quarter of its life.
const renewBefore = 14 * 24 * time.Hour

func (d *doctor) tlsFiles(_ context.Context, r *report) {
	if !d.tls.given() {
		r.ok("no certificate: the port speaks plain HTTP")
		return
	}
	d.tls.examine(r, d.publicURL, time.Now(), nil)
}

// private warns of a private key that others can read.
func (r *report) private(name string) {
	if st, err := os.Stat(name); err == nil && config.PermissionsMatter && st.Mode().Perm()&0o004 != 0 {
		r.warn("chmod 600 "+plain.Quote(name), "%s can be read by every user of this machine", plain.Quote(name))
	}
}

// examine reports what is wrong with the files. public is the URL on the cards; nil
// roots means the system's authorities.
func (f *tlsFiles) examine(r *report, public string, now time.Time, roots *x509.CertPool) {
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		r.problem("--tls-cert wants the certificate, then its chain, and --tls-key the private key of the first one, both in PEM", "%s with %s: %v", plain.Quote(f.cert), plain.Quote(f.key), err)
		return
	}
	leaf := pair.Leaf
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	until := plain.Date(leaf.NotAfter)
	const renew = "renew it; a running server reads the files again when they change"
	switch left := leaf.NotAfter.Sub(now); {
	case left <= 0:
		r.problem(renew, "%s expired on %s", plain.Quote(f.cert), until)
	case now.Before(leaf.NotBefore):
		r.problem("look at the clock of this machine; else wait, or use the certificate before", "%s is valid from %s on only", plain.Quote(f.cert), plain.Date(leaf.NotBefore))
	case left < min(renewBefore, leaf.NotAfter.Sub(leaf.NotBefore)/4):
		r.warn(renew, "%s expires on %s", plain.Quote(f.cert), until)
	}
	u, err := url.Parse(public)
	switch {
	case len(names) == 0:
		r.problem("make one with the host's name as subjectAltName: the common name does not count any more", "%s names no host: every client refuses it", plain.Quote(f.cert))
	case public != "" && err == nil && u.Scheme == "http":
		r.warn("write https:// there, if callers come to this port", "--public-url %s is http, and the port speaks TLS", plain.Quote(public))
	case public != "" && err == nil && leaf.VerifyHostname(u.Hostname()) != nil:
		r.problem("get a certificate for "+u.Hostname()+", or correct --public-url", "%s does not fit --public-url %s: it is for %s", plain.Quote(f.cert), plain.Quote(public), strings.Join(names, ", "))
	}
	f.chain(r, &pair, now, roots)
	r.private(f.key)
	if f.clientCA != "" {
		f.authorities(r, now)
	}
	if len(r.found) == 0 {
		r.ok("%s for %s, until %s; the key fits", plain.Quote(f.cert), strings.Join(names, ", "), until)
	}
}

// chain reports whether callers can follow the chain to an authority.
func (f *tlsFiles) chain(r *report, pair *tls.Certificate, now time.Time, roots *x509.CertPool) {
	leaf := pair.Leaf
	if bytes.Equal(leaf.RawIssuer, leaf.RawSubject) {
		r.warn("give callers the file for --ca-file, or get a certificate of an authority that they know", "%s is self-signed: callers refuse it unless they are told of it", plain.Quote(f.cert))
		return
	}
	between := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	at := now
	if at.After(leaf.NotAfter) || at.Before(leaf.NotBefore) {
		at = leaf.NotAfter.Add(-time.Second) // the leaf was reported; check the rest of the chain independently
	}
	_, err := leaf.Verify(x509.VerifyOptions{Intermediates: between, Roots: roots, CurrentTime: at})
	switch _, ok := errors.AsType[x509.UnknownAuthorityError](err); {
	case err == nil:
	case ok && len(pair.Certificate) == 1:
		r.warn("append the certificates of the authorities in between, as in fullchain.pem; of an authority of your own callers need --ca-file", "%s has no chain, and no authority of this system made it: %s did", plain.Quote(f.cert), plain.Quote(leaf.Issuer.String()))
	case ok:
		r.warn("append what is missing of the chain, in order; of an authority of your own callers need --ca-file", "the chain of %s does not lead to an authority of this system", plain.Quote(f.cert))
	default:
		r.warn("get the chain anew from the authority", "the chain of %s: %v", plain.Quote(f.cert), err)
	}
}

// authorities reports on the authorities for client certificates.
func (f *tlsFiles) authorities(r *report, now time.Time) {
	const do = "--client-ca wants certificates of authorities in PEM"
	text, err := os.ReadFile(f.clientCA)
	if err != nil {
		r.problem(do, "%v", err)
		return
	}
	total, over := 0, 0
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			r.problem(do, "%s: %v", plain.Quote(f.clientCA), err)
			return
		}
		total++
		if now.After(c.NotAfter) {
			over++
		}
	}
	switch {
	case total == 0:
		r.problem(do, "%s has no certificate", plain.Quote(f.clientCA))
	case over == total:
		r.problem("replace them; a running server reads the file again", "all authorities in %s have expired", plain.Quote(f.clientCA))
	case over > 0:
		r.warn("take out, or replace, those that have", "%d of %d authorities in %s have expired", over, total, plain.Quote(f.clientCA))
	}
}
