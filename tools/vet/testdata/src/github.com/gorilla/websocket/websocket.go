package websocket

type Dialer struct{ HandshakeTimeout int }

var DefaultDialer = &Dialer{}
