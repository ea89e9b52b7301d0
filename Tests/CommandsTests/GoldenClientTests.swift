import Foundation
import TestSupport
import Testing

@testable import Commands

/// Later versions must read the contexts of a user, and continue the downloads of an earlier `ferry get`.
/// `Tests/Golden/client` has the files as they were written.
@Suite struct GoldenClientTests {
  private static let contexts: Contexts = {
    var contexts = Contexts()
    contexts.current = "home"
    contexts.entries = [
      "home": .init(server: "http://127.0.0.1:8080", token: nil),
      "work": .init(server: "https://ferry.example/prefix", token: "s3cret\"\\"),
    ]
    return contexts
  }()
  private static let records: [(key: String, record: GetState.Record)] = [
    ("6f1e", .init(name: "a b.iso", file: nil)),
    (
      "6f1e",
      .init(name: "a b.iso", file: .init(path: "/srv/media/a b.iso", size: 4_000_000_000, sha256: "ab12"))
    ),
    ("7c2d", .init(name: "名\"\u{7}.txt", file: nil)),
    ("8e3f", .init(name: "/tmp/x", file: .init(path: "/tmp/x", size: 0, sha256: "cd34"))),
  ]

  private func state(_ directory: String) throws -> GetState {
    try GetState(target: "/srv/media", environment: ["XDG_STATE_HOME": directory])
  }

  private func bytes(_ path: String) throws -> [UInt8] {
    try [UInt8](#require(FileManager.default.contents(atPath: path)))
  }

  @Test func `contexts have the form of their golden file`() throws {
    let path = TemporaryDirectory.make("config") + "/contexts.json"
    try Self.contexts.write(to: path)
    try GoldenFiles.expect(bytes(path), is: "client/contexts.1")
    try Data(GoldenFiles.bytes("client/contexts.1")).write(to: URL(filePath: path))
    #expect(try Contexts(path: path) == Self.contexts)
  }

  @Test func `state of get has the form of its golden files`() throws {
    let written = try state(TemporaryDirectory.make("state"))
    for (key, record) in Self.records { try written.record(key, name: record.name, file: record.file) }
    try GoldenFiles.expect(bytes(written.path + "/files"), is: "client/files.1")
    try GoldenFiles.expect(bytes(written.path + "/target"), is: "client/target.1")
    let directory = TemporaryDirectory.make("state")
    let path = try state(directory).path
    try Data(GoldenFiles.bytes("client/files.1")).write(to: URL(filePath: path + "/files"))
    let last = Dictionary(Self.records.map { ($0.key, $0.record) }) { $1 }
    #expect(try state(directory).records == last)
  }

  @Test func `own service is found by its golden file`() throws {
    let place = OwnService.Place(url: "http://127.0.0.1:41234", token: "0a1b2c")
    try GoldenFiles.expect(place.line + "\n", is: "client/service.1")
    #expect(try GoldenFiles.lines("client/service.1").compactMap(OwnService.Place.init(line:)) == [place])
    #expect(OwnService.Place(line: "http://127.0.0.1:41234") == nil)
  }

  /// The command finds its state and tasks by these names.
  @Test func `names of states and tasks stay`() throws {
    let directory = TemporaryDirectory.make("state")
    let state = try state(directory)
    let files = [
      state.path, state.path + "/files", state.path + "/target", state.serviceFile, state.serviceLog,
      state.dataDirectory,
    ]
    let names =
      files.map { String($0.dropFirst(directory.count)) } + [
        "\(GetLabels.directory)=\(state.label)",
        "\(GetLabels.file)=\(GetState.key(url: "http://h/a?b", output: nil))",
        "\(GetLabels.file)=\(GetState.key(url: "http://h/a?b", output: "c.txt"))",
        Contexts.path(["XDG_CONFIG_HOME": "/config"]), Contexts.path(["HOME": "/home/u"]),
      ]
    try GoldenFiles.expect(names.joined(separator: "\n") + "\n", is: "client/names")
    #expect(
      try GoldenFiles.names(in: "client") == ["contexts.1", "files.1", "names", "service.1", "target.1"])
  }
}
