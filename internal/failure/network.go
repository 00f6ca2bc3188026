package failure

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// NetworkHint says what to do about a connection that did not come about or broke; "" if
// that is not known.
func NetworkHint(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError // the peer answered, but not with TLS
	switch {
	case err == nil:
	case errors.As(err, &unknown) && unknown.Cert != nil && bytes.Equal(unknown.Cert.RawIssuer, unknown.Cert.RawSubject):
		return "its certificate is self-signed: ask the operator for it, and give it with --ca-file cert.pem"
	case errors.As(err, &unknown):
		return "its certificate is signed by an authority that this machine does not trust: give that authority's certificate with --ca-file; the server should send its whole chain"
	case errors.As(err, &name):
		return "the certificate is for another name: use one of its names in the address"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not valid yet: renew it, or set the clock of this machine"
	case errors.As(err, &plain), says(err, "server gave HTTP response to HTTPS client"):
		return "this port does not speak TLS: write http:// in place of https://, or use the TLS port"
	case says(err, "malformed HTTP response \"\\x15\\x03"), says(err, "takes https, not http"):
		return "this port requires TLS: write https:// in place of http://"
	case says(err, "malformed HTTP "), says(err, "readLoopPeekFailLocked: %!w(<nil>)"): // it spoke before it had the request
		return "another program listens there, and does not speak HTTP: check the port"
	case says(err, "no answer within "):
		return "it takes connections and does not answer: check the port, and how whatever listens there is doing"
	}
	return ""
}

// says reports whether the text of an error or of one of its causes contains words: an error
// may replace the words of its cause.
func says(err error, words string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}
