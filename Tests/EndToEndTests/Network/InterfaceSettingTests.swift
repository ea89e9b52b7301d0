import Foundation
import JSON
import TestSupport
import Testing

/// How the operator says what kind of network an interface is.
@Suite(.serialized, .blocking) struct InterfaceSettingTests {
  private static let noCellular = #""allowsCellularAccess":false"#
  private static let noConstrained = #""allowsConstrainedNetworkAccess":false"#
  private static let nothing = #"\#(noCellular),\#(noConstrained)"#

  /// The links that tasks take which may use none of the classes, not the cellular, not the constrained.
  private func links(_ place: ClassedPlace) throws -> [ClassedPlace.Link?] {
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
  func theEnvironmentSaysIt(_ text: String) throws {
    let place = try ClassedPlace([], environment: ["FERRY_INTERFACE_CLASS": text])
    #expect(try links(place) == [.eth0, .sat0, .wwan0])
  }

  @Test(arguments: [
    #"{"interfaceClass":["wwan0=cellular","sat0=constrained"]}"#,
    #"{"interface-class":"wwan0=cellular sat0=constrained"}"#,
  ])
  func theFileSaysIt(_ text: String) throws {
    let place = try ClassedPlace([], options: ["--config", try file(text)])
    #expect(try links(place) == [.eth0, .sat0, .wwan0])
  }

  /// Options are stronger than the environment, and that than the file.
  @Test func theStrongestSaysItAlone() throws {
    let path = try file(#"{"interfaceClass":["sat0=constrained"]}"#)
    let variables = ["FERRY_INTERFACE_CLASS": "eth0=cellular", "FERRY_CONFIG": path]
    let byOption = try ClassedPlace(["wwan0=cellular"], environment: variables)
    #expect(try links(byOption) == [.sat0, .sat0, .wwan0])
    let byVariable = try ClassedPlace([], up: [.eth0, .sat0], environment: variables)
    #expect(try links(byVariable) == [.sat0, .sat0, .sat0])
  }

  @Test func anInterfaceMayBeOfSeveralClasses() throws {
    let place = try ClassedPlace(["wwan0=cellular,constrained", "*=expensive"])
    #expect(try links(place) == [.sat0, .sat0, .sat0])
    let session = try place.session(#""allowsExpensiveNetworkAccess":false"#)
    #expect(try place.refusal(session: session) == "expensive")
  }

  @Test func withoutClassesNothingIsForbidden() throws {
    let place = try ClassedPlace([])
    #expect(try links(place) == [.wwan0, .wwan0, .wwan0])
  }

  // MARK: Mistakes

  /// How the start ends, and what it says.
  private func start(_ options: [String], _ environment: [String: String] = [:]) throws -> String {
    let directory = TemporaryDirectory.make("ferry-no")
    let result = try ChildProcess.run(
      FerryProcess.binary, ["serve", "--listen", "127.0.0.1:0", "--data-directory", directory] + options,
      environment: environment)
    #expect(result.status != 0, "\(options)")
    return result.output
  }

  /// The wrong value, and the part of it that the message names.
  @Test(arguments: [
    ("wwan0", "wwan0"), ("wwan0=", "wwan0="), ("=cellular", "=cellular"), ("wwan0=fast", "fast"),
    ("wwan0=Cellular", "Cellular"), ("wwan0=cellular,", "wwan0=cellular,"), ("ww*n0=cellular", "ww*n0"),
    ("w/0=cellular", "w/0"), ("a-name-that-is-too-long=cellular", "a-name-that-is-too-long"),
    ("wwan0=cellular=expensive", "cellular=expensive"),
  ])
  func aBadValueStopsTheStart(_ value: String, _ named: String) throws {
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
