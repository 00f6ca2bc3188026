package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// testKeys makes keys once for all tests: RSA takes its time.
var testKeys = sync.OnceValue(func() *Keys {
	k, err := GenerateKeys(now)
	if err != nil {
		panic(err)
	}
	return k
})

// TestVector is the test vector that the libraries of Standard Webhooks share.
func TestVector(t *testing.T) {
	const id, secret, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`
	h := http.Header{}
	(*Keys)(nil).Sign(h, id, time.Unix(1614265330, 0), []byte(body), secret)
	if got, want := h.Get("webhook-signature"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	if h.Get("webhook-id") != id || h.Get("webhook-timestamp") != "1614265330" {
		t.Errorf("headers %v", h)
	}
	s, err := ReadSigned(h)
	if err != nil || !s.ByToken(secret, []byte(body)) {
		t.Errorf("not verified: %v", err)
	}
}

// TestSignaturesByHand computes both signatures without this package.
func TestSignaturesByHand(t *testing.T) {
	k := testKeys()
	for _, token := range []string{"plain token", "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef01234567"))} {
		h, body := http.Header{}, []byte(`{"a":1}`)
		k.Sign(h, "d-1", now, body, token)
		key := []byte(token)
		if strings.HasPrefix(token, "whsec_") {
			key = []byte("0123456789abcdef01234567")
		}
		content := "d-1." + strconv.FormatInt(now.Unix(), 10) + `.{"a":1}`
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(content))
		list := strings.Split(h.Get("Webhook-Signature"), " ")
		if len(list) != 2 || list[0] != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
			t.Fatalf("%s: %v", token, list)
		}
		public, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(k.PublicKey(), "whpk_"))
		sig, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(list[1], "v1a,"))
		if !ed25519.Verify(public, []byte(content), sig) {
			t.Error("the Ed25519 signature is wrong")
		}
	}
}

func TestWithoutTokenOrKeys(t *testing.T) {
	h := http.Header{HeaderSignature: {"left over"}}
	(*Keys)(nil).Sign(h, "d-1", now, nil, "")
	if _, err := ReadSigned(h); err != ErrMissing {
		t.Errorf("%v: %v", h, err)
	}
	testKeys().Sign(h, "d-1", now, nil, "")
	if got := h.Get(HeaderSignature); !strings.HasPrefix(got, "v1a,") || strings.Contains(got, " ") {
		t.Errorf("signature %s", got)
	}
}

// TestTampering changes every signed part, one by one.
func TestTampering(t *testing.T) {
	k := testKeys()
	keys, err := ParseKeySet(k.JWKS())
	if err != nil {
		t.Fatal(err)
	}
	good, body := http.Header{}, []byte(`{"a":1}`)
	k.Sign(good, "d-1", now, body, "token")
	verdict := func(h http.Header, body []byte, token string) (bool, bool) {
		s, err := ReadSigned(h)
		if err != nil {
			return false, false
		}
		return s.ByToken(token, body), s.ByKey(keys, body)
	}
	if mac, key := verdict(good, body, "token"); !mac || !key {
		t.Fatal("a good delivery is refused")
	}
	if mac, key := verdict(good, body, "Token"); mac || !key {
		t.Error("another token verifies")
	}
	change := func(name, value string) http.Header {
		h := good.Clone()
		h.Set(name, value)
		return h
	}
	stamp, list := good.Get(HeaderTimestamp), good.Get(HeaderSignature)
	for what, h := range map[string]http.Header{
		"id": change(HeaderID, "d-2"), "id with a dot": change(HeaderID, "d-1."+stamp), "no id": change(HeaderID, ""),
		"time": change(HeaderTimestamp, strconv.FormatInt(now.Unix()+1, 10)), "time with zeros": change(HeaderTimestamp, "0"+stamp),
		"time with a sign": change(HeaderTimestamp, "+"+stamp), "time in fractions": change(HeaderTimestamp, stamp+".0"), "no time": change(HeaderTimestamp, ""),
		"no signature": change(HeaderSignature, ""), "swapped kinds": change(HeaderSignature, strings.NewReplacer("v1,", "v1a,", "v1a,", "v1,").Replace(list)),
		"no kinds": change(HeaderSignature, strings.NewReplacer("v1,", "", "v1a,", "").Replace(list)), "other kinds": change(HeaderSignature, strings.ReplaceAll(list, "v1", "v2")),
		"cut": change(HeaderSignature, "v1, v1a,"), "zero": change(HeaderSignature, "v1,"+base64.StdEncoding.EncodeToString(make([]byte, 32))+" v1a,"+base64.StdEncoding.EncodeToString(make([]byte, 64))),
		"too many":  change(HeaderSignature, strings.Repeat("v1,AA== ", maxSignatures)+list),
		"two ids":   {HeaderID: {"d-1", "d-1"}, HeaderTimestamp: {stamp}, HeaderSignature: {list}},
		"two lists": {HeaderID: {"d-1"}, HeaderTimestamp: {stamp}, HeaderSignature: {list, list}},
	} {
		if mac, key := verdict(h, body, "token"); mac || key {
			t.Errorf("%s: verifies: %v, %v", what, mac, key)
		}
	}
	for i := range body {
		b := append([]byte(nil), body...)
		b[i] ^= 1
		if mac, key := verdict(good, b, "token"); mac || key {
			t.Errorf("verifies with byte %d changed", i)
		}
	}
	if mac, key := verdict(change(HeaderSignature, "v2,x v1,AAAA "+list+" junk"), body, "token"); !mac || !key {
		t.Error("other signatures are in the way")
	}
}

// TestOneContentOneReading: a good signature does not hold for another split into id,
// time and body.
func TestOneContentOneReading(t *testing.T) {
	h := http.Header{}
	(*Keys)(nil).Sign(h, "d", time.Unix(1, 0), []byte("2.{}"), "token")
	h[HeaderID], h[HeaderTimestamp] = []string{"d.1"}, []string{"2"} // with the body {}
	if s, err := ReadSigned(h); err == nil && s.ByToken("token", []byte("{}")) {
		t.Error("the split moved")
	}
	for _, stamp := range []string{"01", "+1", "-1", "1e3", " 1", "1 ", "0x1", "1_0", "99999999999999999999"} {
		h[HeaderID], h[HeaderTimestamp] = []string{"d"}, []string{stamp}
		if _, err := ReadSigned(h); err != ErrMalformed {
			t.Errorf("time %q: %v", stamp, err)
		}
	}
}

// TestNoKeysIsNoKey: an empty secret verifies nothing.
func TestNoKeysIsNoKey(t *testing.T) {
	h := http.Header{HeaderID: {"d-1"}, HeaderTimestamp: {"1"}}
	mac := hmac.New(sha256.New, nil)
	mac.Write([]byte("d-1.1."))
	h[HeaderSignature] = []string{"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))}
	s, err := ReadSigned(h)
	if err != nil || s.ByToken("", nil) || s.ByToken("whsec_", nil) || s.ByKey(nil, nil) || s.ByKey(new(KeySet), nil) {
		t.Errorf("verifies: %v", err)
	}
}

func FuzzReadSigned(f *testing.F) {
	f.Add("d-1", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", []byte("{}"))
	f.Add("", "-1", "v1,, v1a ,v1a,\x00", []byte(nil))
	f.Add("a.b", "99999999999999999999", "v1a,"+strings.Repeat("A", 88), []byte("x"))
	keys, _ := ParseKeySet(testKeys().JWKS())
	f.Fuzz(func(t *testing.T, id, stamp, list string, body []byte) {
		h := http.Header{HeaderID: {id}, HeaderTimestamp: {stamp}, HeaderSignature: {list}}
		s, err := ReadSigned(h)
		if err != nil {
			return
		}
		if strings.ContainsAny(s.ID, ". \r\n") || s.stamp != strconv.FormatInt(s.At.Unix(), 10) {
			t.Errorf("read %q at %q", s.ID, s.stamp)
		}
		if s.ByToken("a token nobody knows", body) || s.ByKey(keys, body) {
			t.Errorf("verified %v", h)
		}
		// A good signature is found among any others.
		good := http.Header{}
		testKeys().Sign(good, s.ID, s.At, body, "t")
		if len(strings.Fields(list)) > maxSignatures-2 || len(list) > maxHeader/2 {
			return
		}
		h.Set(HeaderSignature, list+" "+good.Get(HeaderSignature))
		if s, err = ReadSigned(h); err != nil || !s.ByToken("t", body) || !s.ByKey(keys, body) {
			t.Errorf("not verified: %v, %v", h, err)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	k, body := testKeys(), make([]byte, 1000)
	h := http.Header{}
	b.ReportAllocs()
	for b.Loop() {
		k.Sign(h, "0197a1b2-aaaa-7bbb-8ccc-ddddeeeeffff", now, body, "token")
	}
}
