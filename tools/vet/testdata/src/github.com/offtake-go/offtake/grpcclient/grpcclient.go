package grpcclient

import (
	"google.golang.org/grpc"

	"github.com/offtake-go/offtake/capacity"
)

type Options struct{}

type Conn struct{ *grpc.ClientConn }

func New(target string, plan capacity.Plan, opts *Options) (*Conn, error) { return nil, nil }
