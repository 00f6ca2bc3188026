package dialect

import (
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	codepb "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// v03Statuses are the errors of 0.3 over gRPC, which has no table of its own: their
// statuses, and the words in the message by which programs tell errors of the same
// status apart.
var v03Statuses = []struct {
	code   a2a.Code
	status codepb.Code
	words  []string // the first is written
}{
	{a2a.CodeTaskNotFound, codepb.Code_NOT_FOUND, []string{"TASK_NOT_FOUND", "TaskNotFoundError"}},
	{a2a.CodeTaskNotCancelable, codepb.Code_FAILED_PRECONDITION, []string{"TASK_NOT_CANCELABLE", "TaskNotCancelableError"}},
	{a2a.CodePushNotificationNotSupported, codepb.Code_UNIMPLEMENTED, []string{"PUSH_NOTIFICATIONS_NOT_SUPPORTED", "PushNotificationNotSupportedError"}},
	{a2a.CodeUnsupportedOperation, codepb.Code_UNIMPLEMENTED, []string{"OPERATION_NOT_SUPPORTED", "UnsupportedOperationError"}},
	{a2a.CodeContentTypeNotSupported, codepb.Code_INVALID_ARGUMENT, []string{"CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError"}},
	{a2a.CodeInvalidAgentResponse, codepb.Code_INTERNAL, []string{"INVALID_AGENT_RESPONSE", "InvalidAgentResponseError"}},
	{a2a.CodeExtendedAgentCardNotConfigured, codepb.Code_UNIMPLEMENTED, []string{"AUTHENTICATED_CARD_NOT_CONFIGURED", "AuthenticatedExtendedCardNotConfiguredError"}},
	{a2a.CodeParse, codepb.Code_INVALID_ARGUMENT, []string{"PARSE_ERROR", "JSONParseError"}},
	{a2a.CodeInvalidRequest, codepb.Code_INVALID_ARGUMENT, []string{"INVALID_REQUEST", "InvalidRequestError"}},
	{a2a.CodeInvalidParams, codepb.Code_INVALID_ARGUMENT, []string{"INVALID_PARAMS", "InvalidParamsError"}},
	{a2a.CodeMethodNotFound, codepb.Code_UNIMPLEMENTED, []string{"METHOD_NOT_FOUND", "MethodNotFoundError"}},
	{a2a.CodeMethodNotAllowed, codepb.Code_UNIMPLEMENTED, []string{"METHOD_NOT_FOUND"}}, // over gRPC, both are the same
}

// ErrorToStatus makes a status from an error, with an ErrorInfo, a BadRequest if fields
// are wrong (§10.6), and a RetryInfo with the time to wait. Nothing of e.Cause is in
// it. In 0.3 the message begins with the word for the error.
func ErrorToStatus(d Dialect, e *a2a.Error) *statuspb.Status {
	row := errorRowIn(d, e.Code)
	code, message := codepb.Code(codepb.Code_value[row.GRPC]), messageOf(row, e)
	if d < V10 {
		for i := range v03Statuses {
			if s := &v03Statuses[i]; s.code == row.Code {
				code, message = s.status, s.words[0]+": "+message
				break
			}
		}
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
	out := &statuspb.Status{Code: int32(code), Message: utf(message)}
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
		if found := takeDetail(e, d); row == nil {
			row = found
		}
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

// cutWord returns the code of a word of v03Statuses at the beginning of a message, and
// the rest of the message.
func cutWord(message string) (code a2a.Code, text string) {
	word, text, ok := strings.Cut(message, ":")
	if !ok {
		word, text = message, ""
	}
	for i := range v03Statuses {
		if s := &v03Statuses[i]; slices.Contains(s.words, strings.TrimSpace(word)) {
			return s.code, strings.TrimSpace(text)
		}
	}
	return 0, ""
}

// rowOfGRPC returns the row of a status without a reason.
func rowOfGRPC(c codepb.Code) *ErrorRow {
	switch c {
	case codepb.Code_UNIMPLEMENTED: // the answer of servers to methods that they do not have
		return ErrorRowOf(a2a.CodeUnsupportedOperation)
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
