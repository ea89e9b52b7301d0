// swift-tools-version: 6.2
import PackageDescription

// The Swift libraries that `make race` compares with Ferry. Ferry itself does not use them.
let package = Package(
  name: "peers",
  dependencies: [
    .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0")
  ],
  targets: [
    .target(name: "Commands"),
    .executableTarget(name: "URLSessionLoop", dependencies: ["Commands"]),
    .executableTarget(
      name: "AsyncHTTPClientLoop",
      dependencies: ["Commands", .product(name: "AsyncHTTPClient", package: "async-http-client")]),
  ])
