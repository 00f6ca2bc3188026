package dialect

import (
	"maps"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
)

// Types of error details (§9.5, §11.6).
const (
	typeErrorInfo  = "type.googleapis.com/google.rpc.ErrorInfo"
	typeBadRequest = "type.googleapis.com/google.rpc.BadRequest"
)

// AppendRPCError appends the error member of a JSON-RPC response: code,
// message, and data with an ErrorInfo, and a BadRequest where fields are
// wrong. Nothing of e.Cause is in it. A code that the dialect does not have
// becomes the nearest it has.
func AppendRPCError(dst []byte, d Dialect, e *a2a.Error) []byte {
	row := errorRowIn(d, e.Code)
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(row.RPC), 10)
	dst = append(dst, `,"message":`...)
	dst = appendText(dst, messageOf(row, e))
	dst = append(dst, `,"data":`...)
	dst = appendDetails(dst, row, e)
	return append(dst, '}')
}

// AppendStatus appends the error body of HTTP+JSON: a google.rpc.Status under
// the member error (§11.6). Nothing of e.Cause is in it.
func AppendStatus(dst []byte, d Dialect, e *a2a.Error) []byte {
	row := errorRowIn(d, e.Code)
	dst = append(dst, `{"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(row.HTTP), 10)
	dst = append(dst, `,"status":`...)
	dst = appendText(dst, row.GRPC)
	dst = append(dst, `,"message":`...)
	dst = appendText(dst, messageOf(row, e))
	dst = append(dst, `,"details":`...)
	dst = appendDetails(dst, row, e)
	return append(dst, "}}"...)
}

func messageOf(row *ErrorRow, e *a2a.Error) string {
	if e.Message == "" {
		return row.Message
	}
	return e.Message
}

func appendDetails(dst []byte, row *ErrorRow, e *a2a.Error) []byte {
	dst = append(dst, `[{"@type":"`+typeErrorInfo+`","reason":`...)
	dst = appendText(dst, row.Reason)
	dst = append(dst, `,"domain":"`+ErrorInfoDomain+`"`...)
	if len(e.Meta) > 0 {
		dst = append(dst, `,"metadata":{`...)
		for i, k := range slices.Sorted(maps.Keys(e.Meta)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendText(dst, k), ':')
			dst = appendText(dst, e.Meta[k])
		}
		dst = append(dst, '}')
	}
	dst = append(dst, '}')
	if len(e.Fields) > 0 {
		dst = append(dst, `,{"@type":"`+typeBadRequest+`","fieldViolations":[`...)
		for i, f := range e.Fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"field":`...)
			dst = appendText(dst, f.Field)
			dst = append(dst, `,"description":`...)
			dst = appendText(dst, f.Description)
			dst = append(dst, '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}
