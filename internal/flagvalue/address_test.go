package flagvalue

import "testing"

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"8080": "127.0.0.1:8080", "0": "127.0.0.1:0", ":8080": ":8080", "[::1]:80": "[::1]:80", "localhost:80": "localhost:80",
		"": "", "65536": "", "-1": "", "127.0.0.1": "", "localhost": "", "::1:80": "",
	} {
		if got, err := ParseAddress(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}
