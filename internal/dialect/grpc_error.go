package dialect

import (
	"cmp"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	codepb "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ErrorToStatus makes a status from an error, with an ErrorInfo, a BadRequest if fields
// are wrong (§10.6), and a RetryInfo with the time to wait. Nothing of e.Cause is in
// it. In 0.3 the message begins with the word for the error.
func ErrorToStatus(d Dialect, e *a2a.Error) *statuspb.Status {
	row := errorRowIn(d, e.Code)
	message := messageOf(row, e)
	if old := oldErrorOf(d, row.Code); old != nil {
		message = old.word + ": " + message
	}
	info := &errdetails.ErrorInfo{Reason: row.Reason, Domain: ErrorInfoDomain}
	if len(e.Meta) > 0 {
		info.Metadata = map[string]string{}
		for k, v := range e.Meta {
			info.Metadata[utf(k)] = utf(v)
		}
	}
	details := []proto.Message{info}
	if len(e.Fields) > 0 {
		bad := new(errdetails.BadRequest)
		for _, f := range e.Fields {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
				Field: utf(f.Field), Description: utf(f.Description),
			})
		}
		details = append(details, bad)
	}
	if s := RetryAfter(e); s > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: &durationpb.Duration{Seconds: s}})
	}
	out := &statuspb.Status{Code: codepb.Code_value[grpcStatus(d, row.Code)], Message: utf(message)}
	for _, d := range details {
		if a, err := anypb.New(d); err == nil { // texts are UTF-8: it cannot fail
			out.Details = append(out.Details, a)
		}
	}
	return out
}

// ErrorFromStatus makes an Error from a peer's status that is not OK. The reason
// decides; without one, the word that 0.3 may put at the beginning of the message; then
// the code.
func ErrorFromStatus(s *statuspb.Status) *a2a.Error {
	e := &a2a.Error{Peer: true, PeerCode: codepb.Code(s.GetCode()).String(), Message: clip(s.GetMessage(), maxErrorText)}
	var row *ErrorRow
	for _, packed := range s.GetDetails() {
		m, err := packed.UnmarshalNew()
		if err != nil {
			continue // of a type that we do not know
		}
		var d detail
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			d = detail{Reason: m.GetReason(), Domain: m.GetDomain(), Metadata: m.GetMetadata()}
		case *errdetails.RetryInfo:
			if wait := m.GetRetryDelay(); wait.CheckValid() == nil && e.RetryAfter == 0 {
				e.RetryAfter = max(0, min(wait.AsDuration(), longestRetryDelay))
			}
		case *errdetails.BadRequest:
			for _, f := range m.GetFieldViolations() {
				d.FieldViolations = append(d.FieldViolations, a2a.FieldViolation{Field: f.GetField(), Description: f.GetDescription()})
			}
		}
		found := takeDetail(e, d)
		row = cmp.Or(row, found)
	}
	code, text := cutWord(e.Message)
	if text != "" {
		e.Message = text
	}
	switch {
	case row != nil:
	case code != 0:
		row = ErrorRowOf(code)
	default:
		row = rowOfGRPC(codepb.Code(s.GetCode()))
	}
	return complete(e, row)
}

// cutWord returns the code of a word of oldErrors at the beginning of a message, and the
// rest of the message.
func cutWord(message string) (code a2a.Code, text string) {
	word, text, _ := strings.Cut(message, ":")
	word = strings.TrimSpace(word)
	for i := range oldErrors {
		if e := &oldErrors[i]; word == e.word || word == e.name {
			return e.code, strings.TrimSpace(text)
		}
	}
	return 0, ""
}

// rowOfGRPC returns the row of a status without a reason.
func rowOfGRPC(c codepb.Code) *ErrorRow {
	switch c {
	case codepb.Code_DEADLINE_EXCEEDED, codepb.Code_CANCELLED:
		return ErrorRowOf(a2a.CodeUnavailable)
	case codepb.Code_OUT_OF_RANGE:
		return ErrorRowOf(a2a.CodeTooLarge)
	}
	if code, ok := codeOfGRPC[c.String()]; ok {
		return ErrorRowOf(code)
	}
	return ErrorRowOf(a2a.CodeInternal)
}
