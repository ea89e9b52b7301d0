import Foundation
import JSON
import TestSupport
import Testing

/// The setting of interface classes: its sources, its precedence and its errors.
@Suite(.serialized, .blocking) struct InterfaceSettingTests {
  private static let noCellular = #""allowsCellularAccess":false"#
  private static let noConstrained = #""allowsConstrainedNetworkAccess":false"#
  private static let nothing = #"\#(noCellular),\#(noConstrained)"#

  /// Returns the links of three tasks: without both classes, without cellular, and without constrained networks.
  private func links(_ place: InterfaceClassFixture) throws -> [InterfaceClassFixture.Link?] {
    try [Self.nothing, Self.noCellular, Self.noConstrained].map {
      try place.link(session: try place.session($0))
    }
  }

  private func file(_ text: String) throws -> String {
    let path = TemporaryDirectory.make("ferry-config") + "/config.json"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  @Test(arguments: ["wwan0=cellular sat0=constrained", "wwan*=cellular;s*=constrained"])
  func `environment sets interface classes`(_ text: String) throws {
    let place = try InterfaceClassFixture([], environment: ["FERRY_INTERFACE_CLASS": text])
    #expect(try links(place) == [.eth0, .sat0, .wwan0])
  }

  @Test(arguments: [
    #"{"interfaceClass":["wwan0=cellular","sat0=constrained"]}"#,
    #"{"interface-class":"wwan0=cellular sat0=constrained"}"#,
  ])
  func `configuration file sets interface classes`(_ text: String) throws {
    let place = try InterfaceClassFixture([], options: ["--config", try file(text)])
    #expect(try links(place) == [.eth0, .sat0, .wwan0])
  }

  /// Options override the environment, which overrides the file.
  @Test func `strongest source replaces the others`() throws {
    let path = try file(#"{"interfaceClass":["sat0=constrained"]}"#)
    let variables = ["FERRY_INTERFACE_CLASS": "eth0=cellular", "FERRY_CONFIG": path]
    let byOption = try InterfaceClassFixture(["wwan0=cellular"], environment: variables)
    #expect(try links(byOption) == [.sat0, .sat0, .wwan0])
    let byVariable = try InterfaceClassFixture([], up: [.eth0, .sat0], environment: variables)
    #expect(try links(byVariable) == [.sat0, .sat0, .sat0])
  }

  @Test func `interface may have several classes`() throws {
    let place = try InterfaceClassFixture(["wwan0=cellular,constrained", "*=expensive"])
    #expect(try links(place) == [.sat0, .sat0, .sat0])
    let session = try place.session(#""allowsExpensiveNetworkAccess":false"#)
    #expect(try place.refusal(session: session) == "expensive")
  }

  @Test func `no class means no restriction`() throws {
    let place = try InterfaceClassFixture([])
    #expect(try links(place) == [.wwan0, .wwan0, .wwan0])
  }

  // MARK: Invalid values

  /// Runs a start that must fail, and returns its output.
  private func start(_ options: [String], _ environment: [String: String] = [:]) throws -> String {
    let directory = TemporaryDirectory.make("ferry-no")
    let result = try ChildProcess.run(
      FerryProcess.binary, ["serve", "--listen", "127.0.0.1:0", "--data-directory", directory] + options,
      environment: environment)
    #expect(result.status != 0, "\(options)")
    return result.output
  }

  /// The invalid value, and the part of it that the message names.
  @Test(arguments: [
    ("wwan0", "wwan0"), ("wwan0=", "wwan0="), ("=cellular", "=cellular"), ("wwan0=fast", "fast"),
    ("wwan0=Cellular", "Cellular"), ("wwan0=cellular,", "wwan0=cellular,"), ("ww*n0=cellular", "ww*n0"),
    ("w/0=cellular", "w/0"), ("a-name-that-is-too-long=cellular", "a-name-that-is-too-long"),
    ("wwan0=cellular=expensive", "cellular=expensive"),
  ])
  func `invalid value fails the start`(_ value: String, _ named: String) throws {
    let faults = [
      try start(["--interface-class", "eth0=expensive", "--interface-class", value]),
      try start([], ["FERRY_INTERFACE_CLASS": value]),
      try start(["--config", try file(#"{"interfaceClass":["\#(value)"]}"#)]),
    ]
    for fault in faults {
      #expect(fault.contains("interface-class") && fault.contains(named), "\(value): \(fault)")
    }
  }
}
