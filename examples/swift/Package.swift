// swift-tools-version: 6.2
import PackageDescription

// Four programs that use FerryClient. Each takes its arguments from the command line, and the service from FERRY_SERVER.
let programs = ["import-by-url", "mirror-list", "upload-file", "answer-challenge"]

let package = Package(
  name: "examples",
  dependencies: [.package(name: "ferry", path: "../..")],
  targets: programs.map {
    .executableTarget(name: $0, dependencies: [.product(name: "FerryClient", package: "ferry")])
  }
)
