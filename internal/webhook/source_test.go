package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	ann = "annannannannannannannannannannan"
	ben = "benbenbenbenbenbenbenbenbenbenbe"
)

func TestSourceOfAnID(t *testing.T) {
	const old = "msg_OLx0Mv2-o8NY7yn4gWUycqlB"
	id := SourcedID(ann, old)
	if id != "msg_"+ann+"_OLx0Mv2-o8NY7yn4gWUycqlB" || SourceOf(id) != ann || !validID(id) {
		t.Errorf("%s has the source %q", id, SourceOf(id))
	}
	if got := SourcedID("", old); got != old {
		t.Errorf("without a source the id is %s", got)
	}
	for _, id := range []string{
		"", old, "msg_", ann, "msg_" + ann, "msg_" + ann + "_", "msg_" + ann + "x_y", "msg_" + ann[1:] + "_y", "xmsg_" + ann + "_y",
		"msg_" + strings.ToUpper(ann) + "_y", "msg_" + strings.Replace(ann, "n", "_", 1) + "_y", "msg_" + strings.Replace(ann, "n", "1", 1) + "_y",
		"MSG_" + ann + "_y", "msg_ " + ann[1:] + "_y",
	} {
		if s := SourceOf(id); s != "" {
			t.Errorf("%q has the source %q", id, s)
		}
	}
}

// A signature made for one source holds for no other, in any of the three forms:
// the source cannot be changed, and what is signed cannot be split differently.
func TestSignaturesHoldForOneSource(t *testing.T) {
	k, err := GenerateKeys(time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ParseKeySet(k.JWKS())
	if err != nil {
		t.Fatal(err)
	}
	body, at := []byte(`{"id":"t-1"}`), time.Unix(1_700_000_000, 0)
	h := http.Header{}
	k.Sign(h, SourcedID(ben, "msg_x"), at, body, "token")
	if err := k.Bearer(h, SourcedID(ben, "msg_x"), "t-1", "https://r.example", at, body); err != nil {
		t.Fatal(err)
	}
	token, err := ReadToken(h)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := token.Claims(keys, body); err != nil || SourceOf(c.ID) != ben {
		t.Errorf("the JWT is for %+v, %v", c, err)
	}
	for id, holds := range map[string]bool{
		SourcedID(ben, "msg_x"): true, SourcedID(ann, "msg_x"): false, "msg_x": false, SourcedID(ann, SourcedID(ben, "msg_x")): false,
	} {
		h[HeaderID] = []string{id}
		s, err := ReadSigned(h)
		if err != nil {
			t.Fatal(err)
		}
		if s.ByKey(keys, body) != holds || s.ByToken("token", body) != holds {
			t.Errorf("the signature for %s holds: by key %v, by token %v", id, s.ByKey(keys, body), s.ByToken("token", body))
		}
	}
}

// FuzzSource reads ids from strangers: an id has at most one source, the one that it
// was made with, and begins as the samples for receivers expect.
func FuzzSource(f *testing.F) {
	f.Add("msg_"+ann+"_x", ben)
	f.Add("msg_OLx0Mv2-o8NY7yn4gWUycqlB", ann)
	f.Add("msg_msg_"+ann+"_"+ben+"_x", "")
	f.Fuzz(func(t *testing.T, id, source string) {
		if s := SourceOf(id); s != "" && (!ValidSource(s) || !strings.HasPrefix(id, "msg_"+s+"_")) {
			t.Errorf("%q has the source %q", id, s)
		}
		if !ValidSource(source) || strings.TrimPrefix(id, "msg_") == "" {
			return
		}
		made := SourcedID(source, id)
		if SourceOf(made) != source {
			t.Errorf("%q has the source %q, made with %q", made, SourceOf(made), source)
		}
		for _, other := range []string{ann, ben} {
			if strings.HasPrefix(made, "msg_"+other+"_") != (other == source) {
				t.Errorf("%q begins like one of %q", made, other)
			}
		}
	})
}
