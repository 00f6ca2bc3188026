package proxy

var OriginOf = originOf
