// Package xds holds what becomes of grpcclient when its target is xds:///…: a
// management server of go-control-plane says over ADS where the upstream is, and
// grpc-go's own xDS balances the calls. It comes with the xDS half of grpc-go, and
// so is kept out of the root module.
package xds
