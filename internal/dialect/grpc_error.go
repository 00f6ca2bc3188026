package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	codepb "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// ErrorToStatus makes a status of an error, with an ErrorInfo, and a BadRequest
// where fields are wrong (§10.6). Nothing of e.Cause is in it.
func ErrorToStatus(e *a2a.Error) *statuspb.Status {
	row := ErrorRowOf(e.Code)
	info := &errdetails.ErrorInfo{Reason: row.Reason, Domain: ErrorInfoDomain}
	if len(e.Meta) > 0 {
		info.Metadata = texts(e.Meta)
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
	out := &statuspb.Status{Code: codepb.Code_value[row.GRPC], Message: utf(messageOf(row, e))}
	for _, d := range details {
		if a, err := anypb.New(d); err == nil { // texts are UTF-8: it cannot fail
			out.Details = append(out.Details, a)
		}
	}
	return out
}

// ErrorFromStatus makes an Error of a peer's status that is not OK. The reason
// decides; without one, the code does.
func ErrorFromStatus(s *statuspb.Status) *a2a.Error {
	e := &a2a.Error{Peer: true, Message: clip(s.GetMessage(), maxErrorText)}
	var row *ErrorRow
	for _, packed := range s.GetDetails() {
		m, err := packed.UnmarshalNew()
		if err != nil {
			continue // of a type we do not know
		}
		var d detail
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			d = detail{Reason: m.GetReason(), Domain: m.GetDomain(), Metadata: m.GetMetadata()}
		case *errdetails.BadRequest:
			for _, f := range m.GetFieldViolations() {
				d.FieldViolations = append(d.FieldViolations, a2a.FieldViolation{Field: f.GetField(), Description: f.GetDescription()})
			}
		}
		if found := takeDetail(e, d); row == nil {
			row = found
		}
	}
	if row == nil {
		row = rowOfGRPC(codepb.Code(s.GetCode()))
	}
	return complete(e, row)
}

// rowOfGRPC says what a status means without a reason.
func rowOfGRPC(c codepb.Code) *ErrorRow {
	switch c {
	case codepb.Code_UNIMPLEMENTED: // what servers say to methods they do not have
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
