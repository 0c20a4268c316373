package grpcclient

import (
	"encoding/binary"
	"slices"
	"testing"
)

// seen is what frames makes of bytes that come in pieces of the given size.
func seen(p []byte, piece int) (limits []uint32, away int) {
	f := frames{limit: func(n uint32) { limits = append(limits, n) }, away: func() { away++ }}
	for chunk := range slices.Chunk(p, piece) {
		f.feed(chunk)
	}
	return limits, away
}

// frame writes one.
func frame(kind, flags byte, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return append(append(head, flags, 0, 0, 0, 0), payload...)
}

func setting(id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, id), value)
}

func TestTheLimitIsReadHoweverTheBytesAreCut(t *testing.T) {
	stream := slices.Concat(
		frame(frameSettings, 0, slices.Concat(setting(4, 65535), setting(settingMaxConcurrent, 10), setting(6, 1<<20))),
		frame(frameSettings, flagAck, nil),
		frame(0, 0, frame(frameSettings, 0, setting(settingMaxConcurrent, 99))), // data that looks like a frame
		frame(frameSettings, 0, setting(settingMaxConcurrent, 20)),
		frame(frameGoAway, 0, make([]byte, 8)),
	)
	for piece := 1; piece <= len(stream); piece++ {
		limits, away := seen(stream, piece)
		if !slices.Equal(limits, []uint32{10, 20}) || away != 1 {
			t.Errorf("in pieces of %d: limits %v and %d GOAWAYs, want [10 20] and 1", piece, limits, away)
		}
	}
}

// referenceFrames reads whole frames from whole bytes.
func referenceFrames(p []byte) (limits []uint32, away int) {
	for len(p) >= frameHeader {
		size := int(p[0])<<16 | int(p[1])<<8 | int(p[2])
		kind, flags := p[3], p[4]
		p = p[frameHeader:]
		payload := p[:min(size, len(p))]
		p = p[len(payload):]
		if kind == frameGoAway {
			away++
		}
		for kind == frameSettings && flags&flagAck == 0 && len(payload) >= settingEntry {
			if binary.BigEndian.Uint16(payload) == settingMaxConcurrent {
				limits = append(limits, binary.BigEndian.Uint32(payload[2:]))
			}
			payload = payload[settingEntry:]
		}
	}
	return limits, away
}

func FuzzFrames(f *testing.F) {
	f.Add(frame(frameSettings, 0, setting(settingMaxConcurrent, 10)), uint8(3))
	f.Add(slices.Concat(frame(frameSettings, 0, nil), frame(frameGoAway, 0, make([]byte, 8))), uint8(1))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), uint8(7))
	f.Fuzz(func(t *testing.T, p []byte, piece uint8) {
		limits, away := seen(p, int(piece)+1)
		wantLimits, wantAway := referenceFrames(p)
		if !slices.Equal(limits, wantLimits) || away != wantAway {
			t.Errorf("feed(%x) in pieces of %d = %v, %d, want %v, %d", p, int(piece)+1, limits, away, wantLimits, wantAway)
		}
	})
}
