package auth

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The documents of RFC 8785 and of its authors' test suite.
var canonicals = []struct{ name, in, out string }{
	{"RFC 8785 §3.2.2", `{
		"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
		"literals": [null, true, false]}`,
		`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
	{"RFC 8785 §3.2.3", `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
		"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
	{"arrays", `[ 56, { "d": true, "10": null, "1": [ ] } ]`, `[56,{"1":[],"10":null,"d":true}]`},
	{"french", `{"peach":1,"péché":2,"pêche":3,"sin":4}`, `{"peach":1,"péché":2,"pêche":3,"sin":4}`},
	{"structures", `{"1": {"f": {"f": "hi","F": 5} ,"\n": 56.0}, "10": { }, "": "empty", "a": { }, "111": [ {"e": "yes","E": "no" } ], "A": { }}`,
		`{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}`},
	{"nothing is normalized", `{"Unnormalized Unicode":"A\u030a"}`, "{\"Unnormalized Unicode\":\"A\u030a\"}"},
	{"escapes", `"\b\t\n\f\r\u0000\u001f\u007f\u2028<>&"`, "\"\\b\\t\\n\\f\\r\\u0000\\u001f\u007f\u2028<>&\""},
	{"zero", `[-0, 0.0, -0e5, 1e-400]`, `[0,0,0,0]`},
	{"surrogates come before the end of the basic plane", `{"\uffff":1,"\ud800\udc00":2,"\ud7ff":3,"\udbff\udfff":4}`,
		"{\"\ud7ff\":3,\"\U00010000\":2,\"\U0010ffff\":4,\"\uffff\":1}"},
	{"a scalar", " 7 ", "7"},
}

func TestCanonical(t *testing.T) {
	for _, c := range canonicals {
		if got, err := Canonical([]byte(c.in)); err != nil || string(got) != c.out {
			t.Errorf("%s: got %s, %v\nwant %s", c.name, got, err, c.out)
		}
	}
}

// RFC 8785, appendix B: the bits of a double, and its text.
func TestCanonicalNumbers(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		if got := string(appendNumber(nil, math.Float64frombits(bits))); got != want {
			t.Errorf("%016x: got %s, want %s", bits, got, want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for name, doc := range map[string]string{
		"nothing": "", "cut off": `{"a":`, "a comma too much": `[1,]`, "more behind": `{} {}`, "a zero byte behind": "{}\x00",
		"twice": `{"a":1,"a":1}`, "twice by escape": `{"a":1,"\u0061":2}`,
		"half a pair": `"\ud800"`, "the other half": `"\udc00"`, "not a pair": `"\ud800\u0041"`, "two first halves": `"\ud800\ud800"`,
		"not UTF-8": "\"\xff\"", "a surrogate in UTF-8": "\"\xed\xa0\x80\"", "a bare control character": "\"\x01\"",
		"too large": `1e309`, "NaN": `NaN`, "infinity": `-Infinity`, "a plus": `+1`, "leading zero": `01`, "no digits": `1.`, "no exponent": `1e`, "hex": `0x1`,
		"deep": strings.Repeat("[", 102) + strings.Repeat("]", 102), "an escape": `"\x41"`, "half an escape": `"\u00`, "long": `"` + strings.Repeat("a", maxDocument) + `"`,
	} {
		if got, err := Canonical([]byte(doc)); err == nil {
			t.Errorf("%s: it became %.40s", name, got)
		}
	}
	if _, err := Canonical([]byte(strings.Repeat("[", 101) + strings.Repeat("]", 101))); err != nil {
		t.Error("100 levels inside of the first:", err)
	}
}

func FuzzCanonical(f *testing.F) {
	for _, c := range canonicals {
		f.Add([]byte(c.in))
	}
	f.Add([]byte(`{"a":[1e21,-1e-7,"\ud83d\ude00"]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		once, err := Canonical(doc)
		if err != nil {
			return
		}
		if twice, err := Canonical(once); err != nil || string(twice) != string(once) {
			t.Fatalf("%s became %s, %v", once, twice, err)
		}
		var before, after any
		if err := json.Unmarshal(doc, &before); err != nil {
			t.Fatalf("what is not JSON was taken: %q: %v", doc, err)
		}
		if err := json.Unmarshal(once, &after); err != nil || !reflect.DeepEqual(noMinus(before), noMinus(after)) {
			t.Fatalf("%s and %s are not the same", doc, once)
		}
	})
}

// noMinus makes every minus zero a zero.
func noMinus(v any) any {
	switch v := v.(type) {
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i] = noMinus(v[i])
		}
		return v
	case map[string]any:
		for name, e := range v {
			v[name] = noMinus(e)
		}
	case float64:
		return v + 0
	}
	return v
}
