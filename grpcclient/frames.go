package grpcclient

import "encoding/binary"

// frames follows the HTTP/2 frames that come over a connection, for the two things
// that grpc-go keeps to itself: the server's limit on concurrent streams, which
// its SETTINGS state before anything else, and GOAWAY, which tells a connection
// that was ended from one that broke. It reads nine bytes a frame and the settings,
// and skips the rest. What it can't make sense of it skips too: grpc-go will say.
//
// The zero value is at the start of a connection. It is not safe for concurrent use.
type frames struct {
	header [frameHeader]byte
	have   int    // bytes of the header
	left   uint32 // bytes of the payload
	kind   byte
	entry  [settingEntry]byte
	part   int // bytes of the entry

	limit func(uint32) // SETTINGS_MAX_CONCURRENT_STREAMS
	away  func()       // GOAWAY
}

// RFC 9113, sections 4.1, 6.5, 6.5.2 and 6.8.
const (
	frameHeader          = 9
	frameSettings        = 0x4
	frameGoAway          = 0x7
	flagAck              = 0x1
	settingEntry         = 6
	settingMaxConcurrent = 0x3
)

// feed takes the next bytes, however they are cut.
func (f *frames) feed(p []byte) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(uint32(min(len(p), 1<<24)), f.left)
			if f.kind == frameSettings {
				f.settings(p[:n])
			}
			f.left -= n
			p = p[n:]
			continue
		}
		n := copy(f.header[f.have:], p)
		f.have += n
		p = p[n:]
		if f.have == frameHeader {
			f.begin()
		}
	}
}

// begin reads a whole header.
func (f *frames) begin() {
	f.have, f.part = 0, 0
	f.left = binary.BigEndian.Uint32(f.header[:4]) >> 8
	f.kind = f.header[3]
	if f.kind == frameSettings && f.header[4]&flagAck != 0 {
		f.kind = 0
	}
	if f.kind == frameGoAway {
		f.away()
	}
}

func (f *frames) settings(p []byte) {
	for len(p) > 0 {
		n := copy(f.entry[f.part:], p)
		f.part += n
		p = p[n:]
		if f.part < settingEntry {
			return
		}
		f.part = 0
		if binary.BigEndian.Uint16(f.entry[:2]) == settingMaxConcurrent {
			f.limit(binary.BigEndian.Uint32(f.entry[2:]))
		}
	}
}
