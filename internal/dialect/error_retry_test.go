package dialect

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// The time to wait gets through on every binding of every version, rounded up to
// the second.
func TestRetryAfterTravels(t *testing.T) {
	for sent, want := range map[time.Duration]time.Duration{
		0: 0, -time.Second: 0, time.Nanosecond: time.Second, time.Second: time.Second,
		1500 * time.Millisecond: 2 * time.Second, time.Hour: time.Hour,
	} {
		for _, code := range []a2a.Code{a2a.CodeRateLimited, a2a.CodeUnavailable} {
			e := &a2a.Error{Code: code, Message: "later", RetryAfter: sent}
			for _, d := range []Dialect{V01, V03, V0x, V10, V11} {
				var o struct {
					Code    int
					Message string
					Data    json.RawMessage
				}
				raw := AppendRPCError(nil, d, e)
				if err := json.Unmarshal(raw, &o); err != nil {
					t.Fatal(err, string(raw))
				}
				if got := ErrorFromRPC(http.StatusOK, o.Code, o.Message, o.Data); got.RetryAfter != want || got.Code != code {
					t.Errorf("%v in %v over JSON-RPC: %+v of %s", sent, d, got, raw)
				}
				raw = AppendStatus(nil, d, e)
				if got := ErrorFromHTTP(HTTPStatus(d, code), "application/json", raw); got.RetryAfter != want || got.Code != code {
					t.Errorf("%v in %v over HTTP: %+v of %s", sent, d, got, raw)
				}
				if got := ErrorFromStatus(ErrorToStatus(d, e)); got.RetryAfter != want || got.Code != code {
					t.Errorf("%v in %v over gRPC: %+v", sent, d, got)
				}
			}
		}
	}
}

// Peers write what they like, and longer than anybody waits.
func TestForeignRetryDelays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`"0.25s"`: 250 * time.Millisecond, `"1e400s"`: 0, `"1e300s"`: longestRetryDelay, `"NaNs"`: 0, `"-3s"`: 0, `"3"`: 0, `"s"`: 0, `7`: 0, `{"seconds":3}`: 0, `"Infs"`: longestRetryDelay,
	} {
		e := ErrorFromRPC(200, -32000, "x", []byte(`[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":`+text+`}]`))
		if e.RetryAfter != want {
			t.Errorf("%s is %v, want %v", text, e.RetryAfter, want)
		}
	}
	for _, d := range []*durationpb.Duration{nil, {Seconds: -5}, {Seconds: 1 << 62}, {Nanos: 1 << 30}} {
		a, err := anypb.New(&errdetails.RetryInfo{RetryDelay: d})
		if err != nil {
			t.Fatal(err)
		}
		if e := ErrorFromStatus(&statuspb.Status{Code: 8, Details: []*anypb.Any{a}}); e.RetryAfter != 0 {
			t.Errorf("%v is %v", d, e.RetryAfter)
		}
	}
}

func TestLoopIsReadFromItsStatus(t *testing.T) {
	if e := ErrorFromHTTP(http.StatusLoopDetected, "", nil); e.Code != a2a.CodeLoop {
		t.Error(e.Code)
	}
	e := &a2a.Error{Code: a2a.CodeLoop}
	for _, d := range []Dialect{V03, V10} {
		if got := ErrorFromStatus(ErrorToStatus(d, e)); got.Code != a2a.CodeLoop {
			t.Errorf("%v over gRPC: %v", d, got.Code)
		}
	}
}
