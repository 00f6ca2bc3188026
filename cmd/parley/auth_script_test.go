package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of the scripts about who may call:
//
//	refused token       waits until the server refuses an API key, which must not
//	                    take longer than servers believe what they have read
//	token VARIABLE claims
//	                    sets a variable to a token with these claims, of the
//	                    issuer https://issuer.test for parley, good for an hour;
//	                    the public key goes to jwks.json
//	authority           writes ca.pem, and a certificate by it to client.pem, of
//	                    the robot of acme, with its key
//	http status path [header:value]...
//	                    asks the server with GET and checks the status
//	throttled header    sends wrong credentials until the server has enough of it
//	reloads file        connects until the audit log says that the certificate was
//	                    read anew
//	hangup file         sends SIGHUP to the server and waits for a file

func cmdRefused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refused token")
	}
	for begin := time.Now(); ; {
		asked := time.Now()
		resp := get(ts, "/tasks", "X-API-Key:"+args[0])
		switch {
		case resp.StatusCode == http.StatusUnauthorized:
			return
		case asked.Sub(begin) > time.Second: // the answer may come late, the question counts
			ts.Fatalf("after %v the key is good: %s", asked.Sub(begin), resp.Status)
		}
		time.Sleep(50 * time.Millisecond) // for another process
	}
}

func get(ts *testscript.TestScript, path string, header ...string) *http.Response {
	req, err := http.NewRequest(http.MethodGet, ts.Getenv("URL")+path, nil)
	ts.Check(err)
	for _, h := range header {
		name, value, _ := strings.Cut(h, ":")
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Add(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	ts.Check(resp.Body.Close())
	return resp
}

func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: http status path [header:value]...")
	}
	resp := get(ts, args[1], args[2:]...)
	ts.Logf("%s %v", resp.Status, resp.Header)
	if fmt.Sprint(resp.StatusCode) != args[0] {
		ts.Fatalf("%s answered %s", args[1], resp.Status)
	}
}

func cmdThrottled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: throttled header")
	}
	for range 10 {
		resp := get(ts, "/tasks", args[0])
		switch {
		case resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "":
			return
		case resp.StatusCode != http.StatusUnauthorized:
			ts.Fatalf("wrong credentials: %s", resp.Status)
		}
	}
	ts.Fatalf("nothing slows it down")
}

type issuerKey struct{}

func cmdToken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: token VARIABLE claims")
	}
	key := ts.Value(issuerKey{}).(*ecdsa.PrivateKey)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("jwks.json"), set, 0o600))
	claims := map[string]any{"iss": "https://issuer.test", "aud": "parley", "exp": time.Now().Add(time.Hour).Unix()}
	ts.Check(json.Unmarshal([]byte(args[1]), &claims))
	payload, err := json.Marshal(claims)
	ts.Check(err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	ts.Check(err)
	jws, err := signer.Sign(payload)
	ts.Check(err)
	token, err := jws.CompactSerialize()
	ts.Check(err)
	ts.Setenv(args[0], token)
}

func newIssuer() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func cmdAuthority(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: authority")
	}
	valid := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	ca, client := valid, valid
	ca.Subject, ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = pkix.Name{CommonName: "authority"}, true, true, x509.KeyUsageCertSign
	client.Subject = pkix.Name{CommonName: "robot", Organization: []string{"acme"}}
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	caKey, key := newIssuer(), newIssuer()
	caDER, err := x509.CreateCertificate(rand.Reader, &ca, &ca, caKey.Public(), caKey)
	ts.Check(err)
	der, err := x509.CreateCertificate(rand.Reader, &client, &ca, key.Public(), caKey)
	ts.Check(err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	for name, blocks := range map[string][]*pem.Block{
		"ca.pem":     {{Type: "CERTIFICATE", Bytes: caDER}},
		"client.pem": {{Type: "CERTIFICATE", Bytes: der}, {Type: "PRIVATE KEY", Bytes: raw}},
	} {
		var text []byte
		for _, b := range blocks {
			text = append(text, pem.EncodeToMemory(b)...)
		}
		ts.Check(os.WriteFile(ts.MkAbs(name), text, 0o600))
	}
}

func cmdReloads(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: reloads file")
	}
	for range 200 {
		conn, err := tls.Dial("tcp", ts.Getenv("ADDR"), &tls.Config{InsecureSkipVerify: true})
		ts.Check(err)
		ts.Check(conn.Close())
		if strings.Contains(ts.ReadFile(args[0]), `"event":"tls.reloaded","subject":`) {
			return
		}
		time.Sleep(50 * time.Millisecond) // for another process
	}
	ts.Fatalf("the certificate was not read anew")
}

func cmdHangup(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(serversKey{}).(*servers)
	if neg || len(args) != 1 || s.cmd == nil {
		ts.Fatalf("usage: hangup file, after serve")
	}
	ts.Check(s.cmd.Process.Signal(syscall.SIGHUP))
	for range 1000 {
		if st, err := os.Stat(ts.MkAbs(args[0])); err == nil && st.Size() > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // for another process
	}
	ts.Fatalf("there is no %s", args[0])
}
