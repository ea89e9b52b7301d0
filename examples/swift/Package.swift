// swift-tools-version: 6.2
import PackageDescription

// Programs that use FerryClient. Each takes its arguments from the command line, and the service from FERRY_SERVER.
let programs = ["import-by-url", "mirror-list", "upload-file", "answer-challenge"]
let client = Target.Dependency.product(name: "FerryClient", package: "ferry")

let package = Package(
  name: "examples",
  dependencies: [
    .package(name: "ferry", path: "../.."),
    .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
  ],
  targets: programs.map { .executableTarget(name: $0, dependencies: [client]) } + [
    .executableTarget(
      name: "receive-webhooks", dependencies: [client, .product(name: "FlyingFox", package: "FlyingFox")])
  ]
)
