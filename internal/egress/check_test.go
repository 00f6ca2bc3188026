package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// hostile are URLs that are recognized as not public without a lookup.
var hostile = []string{
	// not a URL to post to
	"", "x", "/path", "//example.com/", "example.com", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/",
	"javascript:alert(1)", "data:,x", "https:example.com", "https:///path", "https://", "https://:443/", "HTTP://example.com/",
	"http://example.com/", "https://example.com/#fragment", "https://example.com/#", "https://example.com/a b",
	"https://example.com/\r\nX: y", "https://example.com\t/", " https://example.com/", "https://example.com/\x00",
	"https://user@example.com/", "https://user:pass@example.com/", "https://@example.com/", "https://example.com@127.0.0.1/",
	"https://example.com\\@127.0.0.1/", "https://127.0.0.1\\.example.com/", "https://%31%32%37.0.0.1/", "https://example.com%00.x/",
	"https://example.com:0/", "https://example.com:65536/", "https://example.com:-1/", "https://example.com:x/",
	"https://example.com:25/", "https://example.com:22/", "https://example.com:6379999/",
	"https://exa mple.com/", "https://-example.com/", "https://example..com/", "https://.example.com/", "https://example.com./",
	"https://" + strings.Repeat("a", 64) + ".com/", "https://" + strings.Repeat("a.", 130) + "com/",
	"https://example.com/" + strings.Repeat("a", MaxURL),
	// loopback, however written
	"https://127.0.0.1/", "https://127.0.0.1:8443/", "https://127.1/", "https://127.0.1/", "https://2130706433/", "https://0x7f000001/",
	"https://0x7f.0.0.1/", "https://0X7F.1/", "https://0177.0.0.1/", "https://017700000001/", "https://127.0.0.01/", "https://127.0.0.1./",
	"https://127.255.255.254/", "https://[::1]/", "https://[0:0:0:0:0:0:0:1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/",
	"https://[::127.0.0.1]/", "https://[::ffff:0:127.0.0.1]/", "https://localhost/", "https://LOCALHOST/", "https://localhost./",
	"https://a.localhost/", "https://localhost.localdomain/", "https://0/", "https://0.0.0.0/", "https://0x0/", "https://[::]/", "https://0.0.0.1/",
	"https://[::1%25lo]/", "https://[127.0.0.1]/", "https://127.0.0.1%25lo/",
	// letters that normalization turns into others
	"https://１２７.０.０.１/", "https://127。0。0。1/", "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "https://ⅼocalhost/", "https://exam\u212a.com/", "https://ex\u00adample.com/",
	// private and the like
	"https://10.0.0.1/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.1.1/", "https://100.64.0.1/", "https://100.127.255.255/",
	"https://198.18.0.1/", "https://198.19.255.255/", "https://192.0.0.1/", "https://192.0.2.1/", "https://198.51.100.1/", "https://203.0.113.1/",
	"https://192.88.99.1/", "https://224.0.0.1/", "https://239.255.255.255/", "https://240.0.0.1/", "https://255.255.255.255/",
	"https://[fc00::1]/", "https://[fdff::1]/", "https://[fe80::1]/", "https://[febf::1]/", "https://[fec0::1]/", "https://[ff02::1]/", "https://[100::1]/",
	"https://[2001:db8::1]/", "https://[3fff::1]/", "https://[2001:2::1]/", "https://[2001:10::1]/", "https://[2001:20::1]/", "https://[5f00::1]/",
	"https://[4000::1]/", "https://[fe80::1%25eth0]/",
	// IPv4 inside IPv6
	"https://[::ffff:10.0.0.1]/", "https://[::ffff:a9fe:a9fe]/", "https://[64:ff9b::10.0.0.1]/", "https://[64:ff9b::7f00:1]/",
	"https://[64:ff9b:1::8.8.8.8]/", "https://[2002:7f00:1::]/", "https://[2002:a00:1::1]/", "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
	"https://[2606:4700::5efe:10.0.0.1]/", "https://[2606:4700::200:5efe:808:808]/", "https://[::8.8.8.8]/",
	// metadata
	"https://169.254.169.254/latest/meta-data/", "https://169.254.170.2/", "https://[fd00:ec2::254]/", "https://[fd20:ce::254]/", "https://2852039166/",
	"https://0xa9fea9fe/", "https://100.100.100.200/", "https://168.63.129.16/", "https://192.0.0.192/", "https://[::ffff:169.254.169.254]/",
	"https://[64:ff9b::a9fe:a9fe]/", "https://metadata.google.internal/", "https://METADATA.google.internal/", "https://metadata/",
	"https://metadata.goog/", "https://instance-data/", "https://instance-data.ec2.internal/", "https://metadata.tencentyun.com/",
	// names of the own network
	"https://intranet/", "https://kubernetes/", "https://printer.local/", "https://db.internal/", "https://router.home.arpa/", "https://x.onion/",
	"https://1.0.0.127.in-addr.arpa/",
}

func TestHostileURLs(t *testing.T) {
	if len(hostile) < 60 {
		t.Fatalf("only %d URLs", len(hostile))
	}
	for _, raw := range hostile {
		for _, p := range []*Policy{nil, {}, {Allow: rules(t, "hooks.example.com", "https://10.9.9.9")}} {
			u, err := p.Check(raw)
			var r *Refused
			if !errors.As(err, &r) || r.Reason == "" {
				t.Errorf("%.80q: got %v, %v; want it refused", raw, u, err)
			}
		}
	}
}

func TestGoodURLs(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.com/hook?x=1&y=%20":  "https://example.com/hook?x=1&y=%20",
		"https://Example.COM:443/":            "https://example.com/",
		"https://example.com:8443":            "https://example.com:8443",
		"https://example.com:":                "https://example.com",
		"HTTPS://example.com":                 "https://example.com",
		"https://xn--bcher-kva.example/":      "https://xn--bcher-kva.example/",
		"https://a_b.example.com/":            "https://a_b.example.com/",
		"https://8.8.8.8/":                    "https://8.8.8.8/",
		"https://[2606:4700::1111]:8443/":     "https://[2606:4700::1111]:8443/",
		"https://[2606:4700:0::1111]/":        "https://[2606:4700::1111]/",
		"https://[::ffff:8.8.8.8]/":           "https://8.8.8.8/",
		"https://[64:ff9b::8.8.8.8]/":         "https://[64:ff9b::808:808]/",
		"https://1e100.net/":                  "https://1e100.net/",
		"https://127.0.0.1.example.com/":      "https://127.0.0.1.example.com/", // its addresses are checked later
		"https://localhost.example.com/":      "https://localhost.example.com/",
		"https://example.com/a@b?u=http://10": "https://example.com/a@b?u=http://10",
	} {
		u, err := (*Policy)(nil).Check(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if u.String() != want {
			t.Errorf("%s: got %s, want %s", raw, u, want)
		}
	}
}

func TestLoopbackOpensThisMachineOnly(t *testing.T) {
	p := &Policy{Loopback: true}
	for _, raw := range []string{
		"http://127.0.0.1:7275/", "https://127.0.0.1/", "http://127.8.8.8/", "http://[::1]:8080/", "http://localhost:3000/", "http://a.localhost/",
		"https://LOCALHOST/", "https://example.com/", "http://[::ffff:127.0.0.1]/",
	} {
		if _, err := p.Check(raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{
		"http://example.com/", "http://8.8.8.8/", "http://10.0.0.1/", "https://10.0.0.1/", "http://0.0.0.0/", "http://[::]/", "http://127.1/",
		"http://169.254.169.254/", "http://localhost.example.com/", "http://localhost:22/", "http://[::127.0.0.1]/", "https://intranet/",
	} {
		if _, err := p.Check(raw); err == nil {
			t.Errorf("%s: want it refused", raw)
		}
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		allow, deny string
		loopback    bool
		yes, no     string
	}{
		{allow: "10.0.0.0/8", yes: "https://10.1.2.3/ https://[::ffff:10.1.2.3]/", no: "http://10.1.2.3/ https://11.0.0.1:22/ https://172.16.0.1/"},
		{allow: "10.1.2.3:8443", yes: "https://10.1.2.3:8443/", no: "https://10.1.2.3/ https://10.1.2.4:8443/"},
		{allow: "http://10.0.0.0/8", yes: "http://10.1.2.3/ https://10.1.2.3/", no: "http://8.8.8.8/ http://example.com/"},
		{allow: "fd00::/8", yes: "https://[fd00::1]/", no: "https://[fe80::1]/"},
		{allow: "[fd00::/8]:9443", yes: "https://[fd00::1]:9443/", no: "https://[fd00::1]/"},
		{allow: "hooks", yes: "https://hooks/ https://HOOKS:8443/", no: "https://hooks2/ http://hooks/ https://hooks:25/"},
		{allow: "http://hooks:8080", yes: "http://hooks:8080/", no: "http://hooks/ https://hooks/"},
		{allow: "mail.example.com:25", yes: "https://mail.example.com:25/", no: "https://example.com:25/ https://mail.example.com:22/"},
		{allow: "*.internal", yes: "https://a.internal/ https://b.a.internal/", no: "https://internal/ https://ainternal/"},
		{allow: ".internal", yes: "https://a.internal/ https://internal/", no: "https://a.localdomain/"},
		{allow: "*", yes: "https://a.internal/ https://x/ https://10.0.0.1/", no: "https://127.0.0.1/ https://169.254.169.254/ http://x/ https://x:22/"},
		{allow: "169.254.169.254", yes: "https://169.254.169.254/", no: "https://169.254.169.253/"},
		{deny: "example.com", yes: "https://a.example.com/", no: "https://example.com/ https://EXAMPLE.com:8443/"},
		{deny: ".example.com", yes: "https://xexample.com/", no: "https://example.com/ https://a.example.com/"},
		{deny: "example.com:8443", yes: "https://example.com/", no: "https://example.com:8443/"},
		{deny: "8.8.8.0/24", yes: "https://8.8.4.4/", no: "https://8.8.8.8/ https://[::ffff:8.8.8.8]/ https://[64:ff9b::8.8.8.8]/"},
		{deny: "2606:4700::/32", yes: "https://[2607::1]/", no: "https://[2606:4700::1]/"},
		{deny: "*", no: "https://example.com/ https://8.8.8.8/"},
		{allow: "10.0.0.0/8", deny: "10.1.0.0/16", yes: "https://10.2.0.1/", no: "https://10.1.0.1/"},
		{allow: ".internal", deny: "db.internal", yes: "https://a.internal/", no: "https://db.internal/"},
		{loopback: true, deny: "127.0.0.1:8080", yes: "http://127.0.0.1:8081/", no: "http://127.0.0.1:8080/"},
	} {
		p := &Policy{Loopback: c.loopback, Allow: rules(t, strings.Fields(c.allow)...), Deny: rules(t, strings.Fields(c.deny)...)}
		for raw := range strings.FieldsSeq(c.yes) {
			if _, err := p.Check(raw); err != nil {
				t.Errorf("allow %q deny %q: %s: %v", c.allow, c.deny, raw, err)
			}
		}
		for raw := range strings.FieldsSeq(c.no) {
			if _, err := p.Check(raw); err == nil {
				t.Errorf("allow %q deny %q: %s passed", c.allow, c.deny, raw)
			}
		}
	}
}

// Only where a receiver of this machine may use http is that said.
func TestTheReasonNamesTheSchemesThatAreAccepted(t *testing.T) {
	for loopback, want := range map[bool]string{
		false: "must begin with https://", true: "must begin with https://, or with http:// for a receiver on this machine",
	} {
		_, err := (&Policy{Loopback: loopback}).Check("foo")
		if r, ok := errors.AsType[*Refused](err); !ok || r.Reason != want {
			t.Errorf("loopback %v: %v", loopback, err)
		}
	}
}

func TestBadRules(t *testing.T) {
	for _, s := range []string{
		"", ":443", "example.com:0", "example.com:65536", "example.com:x", "10.0.0.1/8", "10.0.0/8", "127.1", "*.127.1", "exa mple.com", "a..b", "*.", ".",
		"a.*", "**", "bücher.example", "[fd00::1", "[10.0.0.1]:1", "fe80::1%eth0", "::ffff:10.0.0.0/104", "https://example.com/x", "ftp://example.com", "a.b.",
	} {
		if r, err := ParseRule(s); err == nil {
			t.Errorf("%q: got %+v, want an error", s, r)
		}
	}
}

// TestReasonsTellNoAddress: the author of a name must not learn its addresses.
func TestReasonsTellNoAddress(t *testing.T) {
	p := new(Policy)
	tg := target{host: host{name: "a.example.com"}, port: 443}
	for _, a := range []string{"10.1.2.3", "127.0.0.1", "169.254.169.254", "fd00:ec2::254"} {
		err := p.checkAddr(tg, netip.MustParseAddr(a))
		if err == nil || err.Error() != "address refused: has a host that does not lead to a public address" {
			t.Errorf("%s: %v", a, err)
		}
	}
}

func rules(t *testing.T, list ...string) []Rule {
	t.Helper()
	var rs []Rule
	for _, s := range list {
		r, err := ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}
