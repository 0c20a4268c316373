// Package outlier holds what gRPC's own outlier detection makes of busy clients and
// busy servers. It comes with the xDS half of grpc-go, which is as large again as
// the rest, and so is kept out of the root module.
package outlier
