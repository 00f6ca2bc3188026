package acts

import "slices"

// errorKind is an error of the protocol, with its form on each binding (§5.4). If releases
// 1.0.0 and 1.0.1 differ, both are right, because a patch number is not negotiated (§3.6).
type errorKind struct {
	Name   string
	Code   int      // of JSON-RPC
	HTTP   []int    // statuses, the one of 1.0.1 first
	GRPC   []string // statuses, the one of 1.0.1 first
	Reason string   // of google.rpc.ErrorInfo; "" for the standard errors
}

// errorKinds are all kinds. Kinds below others with the same code are other names of ACTS and of
// 0.3.
var errorKinds = []errorKind{
	{"TaskNotFoundError", -32001, []int{404}, []string{"NOT_FOUND"}, "TASK_NOT_FOUND"},
	{"TaskNotCancelableError", -32002, []int{400, 409}, []string{"FAILED_PRECONDITION"}, "TASK_NOT_CANCELABLE"},
	{"PushNotificationNotSupportedError", -32003, []int{400, 501}, []string{"FAILED_PRECONDITION", "UNIMPLEMENTED"}, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	{"UnsupportedOperationError", -32004, []int{400, 501}, []string{"FAILED_PRECONDITION", "UNIMPLEMENTED"}, "UNSUPPORTED_OPERATION"},
	{"ContentTypeNotSupportedError", -32005, []int{400, 415}, []string{"INVALID_ARGUMENT"}, "CONTENT_TYPE_NOT_SUPPORTED"},
	{"InvalidAgentResponseError", -32006, []int{500, 502}, []string{"INTERNAL"}, "INVALID_AGENT_RESPONSE"},
	{"ExtendedAgentCardNotConfiguredError", -32007, []int{400, 404}, []string{"FAILED_PRECONDITION"}, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
	{"ExtensionSupportRequiredError", -32008, []int{400}, []string{"FAILED_PRECONDITION"}, "EXTENSION_SUPPORT_REQUIRED"},
	{"VersionNotSupportedError", -32009, []int{400}, []string{"FAILED_PRECONDITION", "UNIMPLEMENTED"}, "VERSION_NOT_SUPPORTED"},
	{"JSONParseError", -32700, []int{400}, []string{"INVALID_ARGUMENT"}, ""},
	{"InvalidRequestError", -32600, []int{400}, []string{"INVALID_ARGUMENT"}, ""},
	{"MethodNotFoundError", -32601, []int{404, 405, 501}, []string{"UNIMPLEMENTED"}, ""},
	{"InvalidParamsError", -32602, []int{400, 422}, []string{"INVALID_ARGUMENT"}, ""},
	{"InternalError", -32603, []int{500}, []string{"INTERNAL", "UNKNOWN"}, ""},
	{"AuthenticationError", 0, []int{401}, []string{"UNAUTHENTICATED"}, ""}, // a custom code on JSON-RPC (§3.3.2), with 401
	{"AuthorizationError", 0, []int{403}, []string{"PERMISSION_DENIED"}, ""},
	{"StreamingNotSupportedError", -32004, []int{400, 501}, []string{"FAILED_PRECONDITION", "UNIMPLEMENTED"}, "UNSUPPORTED_OPERATION"},
	{"ExtendedCardNotSupportedError", -32004, []int{400, 501}, []string{"FAILED_PRECONDITION", "UNIMPLEMENTED"}, "UNSUPPORTED_OPERATION"},
	{"AuthenticatedExtendedCardNotSetError", -32007, []int{400, 404}, []string{"FAILED_PRECONDITION", "UNIMPLEMENTED", "NOT_FOUND"}, ""}, // 0.3
}

func kindNamed(name string) *errorKind {
	return kindWhere(func(k errorKind) bool { return k.Name == name })
}

func kindOfCode(code int) *errorKind {
	return kindWhere(func(k errorKind) bool { return k.Code == code })
}

func kindOfReason(reason string) *errorKind {
	return kindWhere(func(k errorKind) bool { return k.Reason == reason && reason != "" })
}

// kindWhere returns the first kind for which is returns true, or nil.
func kindWhere(is func(errorKind) bool) *errorKind {
	if i := slices.IndexFunc(errorKinds, is); i >= 0 {
		return &errorKinds[i]
	}
	return nil
}

const (
	errorInfoType = "type.googleapis.com/google.rpc.ErrorInfo"
	errorDomain   = "a2a-protocol.org"
)

// OpError is an error that an agent answered with, on any binding.
type OpError struct {
	Code    float64 // of JSON-RPC; else 0
	HTTP    int     // status
	GRPC    string  // name of the status; else ""
	Message string
	Details []any // with @type each
	Whole   any   // unchanged
}

// reason returns the reason of the ErrorInfo.
func (e *OpError) reason() string {
	r, _ := errorInfo(e.Details)["reason"].(string)
	return r
}

// is reports whether an error is of a kind. On JSON-RPC the code decides. On the other bindings
// the reason decides, which is more precise than a status; without it the status does.
func (e *OpError) is(name string) bool {
	k := kindNamed(name)
	if k == nil {
		return false
	}
	if e.Code != 0 && k.Code != 0 {
		return int(e.Code) == k.Code
	}
	if r := e.reason(); r != "" && k.Reason != "" {
		return r == k.Reason
	}
	if e.GRPC != "" {
		return slices.Contains(k.GRPC, e.GRPC)
	}
	return slices.Contains(k.HTTP, e.HTTP)
}

// value is the error for assertions.
func (e *OpError) value() map[string]any {
	v := map[string]any{"message": e.Message, "status": float64(e.HTTP)}
	if e.Code != 0 {
		v["code"] = e.Code
	}
	if e.GRPC != "" {
		v["code"] = e.GRPC
	}
	if e.Details != nil {
		v["data"], v["details"] = e.Details, e.Details
	} else if o, ok := e.Whole.(map[string]any); ok && o["data"] != nil {
		v["data"], v["details"] = o["data"], o["data"]
	}
	return v
}

// kind returns the kind of an error, as its code or its reason says; nil if it is not known.
func (e *OpError) kind() *errorKind {
	if e.Code != 0 {
		return kindOfCode(int(e.Code))
	}
	return kindOfReason(e.reason())
}
